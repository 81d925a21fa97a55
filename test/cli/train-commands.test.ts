import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../src/cli/run-command-line.ts'
import { formatLibsvm } from '../../src/models/libsvm-format.ts'
import { parseTextWeight } from '../../src/models/linear-weights.ts'
import { formatRating } from '../../src/models/ratings-format.ts'
import { generateRatings } from '../../src/models/ratings-generator.ts'
import { recordedIo } from './recorded-io.ts'

let folder: string
let ratings: string
let examples: string

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine(argv, io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

const als = (...argv: string[]): ReturnType<typeof run> =>
  run(
    ...['train', 'als', '--ratings', ratings, '--no-publish', '--threads', '0'],
    ...['--factors', '4', '--iterations', '3', ...argv],
  )

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-train-'))
  ratings = join(folder, 'u.data')
  const generated = [...generateRatings({ users: 60, items: 30, ratings: 1200 })]
  writeFileSync(ratings, generated.map((rating) => formatRating(rating, 'tab')).join('\n'))
  examples = join(folder, 'examples.svm')
  const lines = Array.from({ length: 60 }, (_, i) =>
    formatLibsvm(i % 3 === 0 ? 1 : -1, [1 + (i % 3), 5], [1, (i % 7) / 7]),
  )
  writeFileSync(examples, lines.join('\n'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('weir train als', () => {
  it('cross-validates, validates and draws the learning curve', async () => {
    const curve = join(folder, 'als.svg')
    const { code, out } = await als(
      ...['--validation', '0.2', '--patience', '2', '--folds', '3', '--curve', curve, '--json'],
    )
    expect(code).toBe(0)
    const result = JSON.parse(out) as Record<string, unknown>
    expect(result['ratings']).toBeLessThan(1100)
    expect(result['validationRmse']).toBeGreaterThan(result['trainRmse'] as number)
    expect(result['foldRmse']).toHaveLength(3)
    expect(readFileSync(curve, 'utf8')).toMatch(/^<svg .*[\s\S]*validation/)
  })

  it('ranks on implicit feedback', async () => {
    const { code, out } = await als('--implicit', '--alpha', '2', '--test', ratings)
    expect(code).toBe(0)
    expect(out).toMatch(/60 users x 30 items, 1200 ratings in .* s, test NDCG@10 0\.\d+, precision/)
  })

  it.each([
    [['--patience', '2'], '--patience needs --validation'],
    [['--validation', '1'], '--validation is a share'],
    [['--implicit', '--folds', '2'], '--folds needs explicit ratings'],
  ])('refuses %o', async (flags, message) => {
    const { code, err } = await als(...flags)
    expect(code).toBe(2)
    expect(err).toContain(message)
  })
})

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

  it('says how near the best objective is', async () => {
    const { out } = await run('train', 'svm', '--examples', examples, '--threads', '0')
    expect(out).toMatch(
      /60 examples, 6 features in .* s\nobjective .*, within 0\.\d+ % of the best/,
    )
  })

  it('names the file that it cannot read', async () => {
    const missing = join(folder, 'nothing.svm')
    const { code, err } = await run('train', 'svm', '--examples', missing)
    expect(code).not.toBe(0)
    expect(err).toContain(`cannot read the examples file ${missing}: there is no such file`)
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
