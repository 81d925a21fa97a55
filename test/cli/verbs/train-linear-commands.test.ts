import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { formatLibsvm } from '../../../src/models/linear/libsvm-format.ts'
import { parseTextWeight } from '../../../src/models/linear/weights.ts'
import { recordedIo } from '../recorded-io.ts'

let folder: string
let examples: string

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine(argv, io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-train-'))
  examples = join(folder, 'examples.svm')
  const lines = Array.from({ length: 60 }, (_, i) =>
    formatLibsvm(i % 3 === 0 ? 1 : -1, [1 + (i % 3), 5], [1, (i % 7) / 7]),
  )
  writeFileSync(examples, lines.join('\n'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('weir train svm', () => {
  it('writes the weights and the learning curve, and reports all qualities', async () => {
    const [weights, curve] = [join(folder, 'weights.csv'), join(folder, 'svm.svg')]
    const { code, out } = await run(
      ...['train', 'svm', '--examples', examples, '--threads', '0', '--test', examples],
      ...['--folds', '3', '--validation', '0.2', '--weights', weights, '--curve', curve, '--json'],
    )
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      features: 6,
      test: { count: 60, positives: 20, accuracy: { mean: 1 } },
      crossValidation: { count: 60 },
      validationAccuracy: 1,
    })
    const lines = readFileSync(weights, 'utf8').trim().split('\n')
    expect(lines.map((line, i) => parseTextWeight(line, i + 1).feature)).toEqual(
      expect.arrayContaining([1, 2]),
    )
    expect(readFileSync(curve, 'utf8')).toContain('duality gap')
  })

  it('takes the options of the ancestor and writes the weights in buckets', async () => {
    const [weights, plain] = [join(folder, 'buckets.txt'), join(folder, 'plain.txt')]
    const train = (...argv: string[]): ReturnType<typeof run> =>
      run(
        ...['train', 'svm', '--examples', examples, '--threads', '0', '--blocks', '2', '--json'],
        ...['--local-iterations', '40', '--step-size', '0.5', '--tolerance', '1e-6', ...argv],
      )
    const { code, out } = await train(
      ...['--regularization', String(1 / 60), '--weights', weights, '--buckets', '--range', '3'],
    )
    expect(code).toBe(0)
    const other = await train('--cost', '1', '--weights', plain)
    expect(JSON.parse(out)).toMatchObject({
      converged: true,
      objective: (JSON.parse(other.out) as { objective: number }).objective,
    })
    const pairs = readFileSync(weights, 'utf8').trim().split('\n').slice(1)
    expect(pairs.map((line) => line.split(',')[0])).toEqual(['0', '1'])
    const expected = readFileSync(plain, 'utf8').trim().split('\n').slice(1)
    expect(pairs.flatMap((line) => line.split(',')[1]!.split(';'))).toEqual(
      expected.map((line) => line.replace(',', ':')),
    )
  })

  it.each([
    [['--cost', '1', '--regularization', '1'], '--cost and --regularization exclude each other'],
    [['--regularization', '0'], 'above 0'],
    [['--buckets'], '--buckets needs --weights'],
    [['--version', '3'], '--version needs --publish'],
    [
      ['--step-size', '2'],
      '--step-size must be a number above 0 and up to 1, not "2"; the nearest is 1',
    ],
  ])('refuses %o', async (flags, message) => {
    const { code, err } = await run('train', 'svm', '--examples', examples, ...flags)
    expect(code).not.toBe(0)
    expect(err).toContain(message)
  })

  it('prints the distance from the optimum', async () => {
    const { out } = await run('train', 'svm', '--examples', examples, '--threads', '0')
    expect(out).toMatch(
      /60 examples, 6 features in .* s\nobjective .*, within 0\.00\d*[1-9]\d* % of the optimum/,
    )
  })

  it('prints how many weights are not 0 with a penalty of absolute weights', async () => {
    const train = ['train', 'svm', '--examples', examples, '--threads', '0', '--l1', '2']
    const { code, out } = await run(...train)
    expect(code).toBe(0)
    expect(out).toMatch(/\n[1-5] of 6 weights are not 0/)
    const newton = await run(...train, '--loss', 'squared-hinge', '--solver', 'newton')
    expect(newton).toMatchObject({ code: 2, err: expect.stringContaining('which l1 has not at 0') })
  })

  it('prints the digits of a small objective', async () => {
    const { out } = await run(
      ...['train', 'svm', '--examples', examples, '--threads', '0', '--cost', '1e-5'],
    )
    expect(Number(/objective ([0-9.e-]+), within/.exec(out)?.[1])).toBeGreaterThan(0)
  })

  it('names the file that it cannot read', async () => {
    const missing = join(folder, 'nothing.svm')
    const { code, err } = await run('train', 'svm', '--examples', missing)
    expect(code).not.toBe(0)
    expect(err).toContain(`--examples names ${missing}, and there is no such file`)
  })
})

describe('weir train logistic', () => {
  it('reports the log loss', async () => {
    const { code, out } = await run(
      ...['train', 'logistic', '--examples', examples, '--threads', '0', '--test', examples],
    )
    expect(code).toBe(0)
    expect(out).toMatch(/test accuracy 100\.00 %.*AUC 1\.0000, log loss 0\.\d+/)
  })
})

describe('--solver and --scale', () => {
  it("train with Newton's method, which reports the gradient that certifies the weights", async () => {
    const { code, out } = await run(
      ...['train', 'logistic', '--examples', examples, '--threads', '0', '--json'],
      ...['--solver', 'newton', '--scale', 'deviation', '--tolerance', '1e-8'],
    )
    expect(code).toBe(0)
    const result = JSON.parse(out) as Record<string, number>
    expect(result['relativeGap']).toBeLessThanOrEqual(1e-8)
    expect(result['relativeGradient']).toBeLessThan(1e-3)
  })

  it.each([
    [['--scale', 'size'], '--scale must be one of none, max, deviation'],
    [['--solver', 'newton'], "Newton's method needs a loss with a derivative"],
  ])('refuse %o for the hinge loss', async (flags, message) => {
    const { code, err } = await run('train', 'svm', '--examples', examples, ...flags)
    expect(code).toBe(2)
    expect(err).toContain(message)
  })
})

describe('weir train svm that diverges', () => {
  it('exits with status 1 and its code, and publishes nothing', async () => {
    const place = ['--data-dir', join(folder, 'diverged')]
    const torn = join(folder, 'torn.svm')
    writeFileSync(torn, '1 1:1\n-1 1:1\n')
    const words = ['train', 'svm', '--examples', torn, '--threads', '0', '--publish']
    const { code, err } = await run(...words, '--cost', '1e308', ...place)
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('TRAINING_DIVERGED') })
    const { out } = await run('topic', 'list', '--json', ...place)
    const topics = out.split('\n').filter((line) => line !== '')
    const ends = topics.flatMap((line) =>
      (JSON.parse(line) as { offsets: readonly { end: number }[] }).offsets.map(({ end }) => end),
    )
    expect(ends.every((end) => end === 0)).toBe(true)
  })
})

describe('weir train svm that ends without its tolerance', () => {
  const unconverged = (...argv: string[]): ReturnType<typeof run> =>
    run(
      ...['train', 'svm', '--examples', examples, '--threads', '0', '--rounds', '1'],
      ...['--tolerance', '0', '--data-dir', join(folder, 'data'), ...argv],
    )

  it('exits with status 1, says what to do, and publishes nothing', async () => {
    const { code, out, err } = await unconverged('--publish', '--json')
    expect(code).toBe(1)
    const result = JSON.parse(out) as Record<string, unknown>
    expect(result['converged']).toBe(false)
    expect(result['version']).toBeUndefined()
    expect(err).toMatch(
      /ended after 1 rounds without its tolerance.*give --scale max.*Nothing was published/,
    )
  })

  it('publishes with --allow-unconverged', async () => {
    const { code, out, err } = await unconverged('--publish', '--json', '--allow-unconverged')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ converged: false, version: 1 })
    expect(err).toMatch(/without its tolerance/)
  })
})
