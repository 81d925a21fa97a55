import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { inProcess } from '../../cli/command-here.ts'
import {
  type CommandProcess,
  type CommandResult,
  jsonLines,
  PATIENT,
  weir,
} from '../cli/command-process.ts'

const MODEL = 'svm-model'
const LABELS = [2, 3, 7] as const
const random = seededRandom(4)
let folder: string
let data: string
let serving: CommandProcess
let port: string

const at = (name: string): string => join(folder, name)

/** Points around three centres of a plane. */
function points(count: number): string {
  const one = (): string => {
    const place = random.below(3)
    const angle = (2 * Math.PI * place) / 3
    const [x, y] = [Math.cos(angle), Math.sin(angle)].map(
      (each) => 2 * each + 0.7 * random.normal(),
    )
    return `${LABELS[place]} 1:${x!.toFixed(4)} 2:${y!.toFixed(4)}`
  }
  return `${Array.from({ length: count }, one).join('\n')}\n`
}

const here = (...args: string[]): Promise<CommandResult> => inProcess([...args, '--data-dir', data])

async function run(...args: string[]): Promise<CommandResult> {
  const result = await here(...args)
  if (result.code !== 0) throw new Error(`weir ${args.join(' ')}: ${result.stderr}`)
  return result
}

const ask = (...args: string[]): Promise<CommandResult> => run(...args, '--port', port)
const train = ['train', 'logistic', '--range', '32', '--threads', '0'] as const

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-classes-'))
  data = at('data')
  writeFileSync(at('train.svm'), points(500))
  writeFileSync(at('test.svm'), points(500))
  await run(...train, '--examples', at('train.svm'), '--multiclass', '--publish')
  serving = weir(['run', 'svm-serving', '--data-dir', data, '--port', '0', '--json'], {
    env: PATIENT,
  })
  port = (await serving.printed(/"started","port":(\d+)/))[1]!
  await serving.printed(/"version":1/)
})

afterAll(async () => {
  serving?.signal('SIGINT')
  await serving?.ended
  rmSync(folder, { recursive: true, force: true })
})

describe('a linear model of several classes', () => {
  it('is refused without the flag, which the message names', async () => {
    const refused = await here(...train, '--examples', at('train.svm'))
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain(
      'more than two labels: train a model for each label with --multiclass',
    )
    const flags = ['--multiclass', '--curve', at('curve.svg')]
    const both = await here(...train, '--examples', at('train.svm'), ...flags)
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('exclude each other') })
  })

  it('answers with the class and the scores: by command, client and HTTP alike, as its training did', async () => {
    const trained = await run(
      ...[...train, '--examples', at('train.svm'), '--multiclass', '--test', at('test.svm')],
      ...['--folds', '3', '--json'],
    )
    const result = JSON.parse(trained.stdout) as Record<'test' | 'crossValidation', Quality>
    expect(result).toMatchObject({ classes: [2, 3, 7], features: 3, converged: true })
    expect(result.test.accuracy.mean).toBeGreaterThan(0.97)
    expect(result.crossValidation.macroF1).toBeGreaterThan(0.95)
    const evaluated = await ask(
      ...['evaluate', 'svm', '--examples', at('test.svm'), '--log-loss', '--json'],
    )
    const served = JSON.parse(evaluated.stdout) as Quality
    expect(served.accuracy).toEqual(result.test.accuracy)
    expect(served.macroF1).toBeCloseTo(result.test.macroF1, 12)
    expect(served.logLoss.mean).toBeCloseTo(result.test.logLoss.mean, 4)

    const [said] = jsonLines((await ask('classify', '1:2', '2:0.1', '4000:1', '--json')).stdout)
    expect(said).toMatchObject({ label: 2, unknown: 1, features: 3 })
    const features = { ids: Uint32Array.of(1, 2), values: Float32Array.of(2, 0.1) }
    await using client = await WeirClient.connect({ port: Number(port), deadlineMs: 60_000 })
    const { label, decision, scores } = await client.predictLinear('SVM_MODEL', features)
    expect({ label, decision, scores }).toEqual({
      label: 2,
      decision: said!['decision'],
      scores: said!['scores'],
    })
    expect(scores!.map((each) => each.label)).toEqual(LABELS)

    await using gateway = weir(
      ['gateway', '--port', port, '--listen', '127.0.0.1:0', '--json', '--data-dir', data],
      { env: PATIENT },
    )
    const url = (await gateway.printed(/"url":"([^"]+)"/))[1]!
    const inputs = [
      { name: 'index', datatype: 'INT64', shape: [4], data: [1, 2, 1, 2] },
      { name: 'value', datatype: 'FP32', shape: [4], data: [2, 0.1, -1, 2] },
      { name: 'start', datatype: 'INT64', shape: [2], data: [0, 2] },
    ]
    const answer = await fetch(`${url}/v2/models/SVM_MODEL/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs }),
      headers: { 'content-type': 'application/json' },
    })
    const { outputs } = (await answer.json()) as { outputs: { name: string; data: number[] }[] }
    const of = (name: string) => outputs.find((each) => each.name === name)
    expect(of('label')).toMatchObject({ data: [2, 3] })
    expect(of('scores')).toMatchObject({ shape: [2, 3] })
    expect(of('scores')!.data.slice(0, 3)).toEqual(scores!.map(({ score }) => score))
    expect(of('classes')).toMatchObject({ data: LABELS })
  })

  it('is checked and promoted like any other, and a worse one is refused', async () => {
    await run(...train, '--examples', at('train.svm'), '--multiclass', '--publish', '--cost', '2')
    const promote = ['model', 'promote', '--model', MODEL, '--golden', at('test.svm')]
    const wait = ['--max-latency', '60000', '--port', port]
    const grouped = await here(...promote, '2', ...wait, '--cohorts', at('test.svm'))
    expect([grouped.code, grouped.stderr]).toEqual([
      2,
      expect.stringContaining('--cohorts is not of a linear model: its examples have no users'),
    ])
    const promoted = await here(...promote, '2', ...wait)
    expect(promoted.code, promoted.stderr + promoted.stdout).toBe(0)
    await serving.printed(/"version":2/)
    const turned = points(500).replaceAll(/^[27]/gm, (label) => (label === '2' ? '7' : '2'))
    writeFileSync(at('turned.svm'), turned)
    await run(...train, '--examples', at('turned.svm'), '--multiclass', '--publish')
    const refused = await here(...promote, '3', ...wait)
    expect(refused.code).toBe(1)
    expect(refused.stdout + refused.stderr).toMatch(/log loss against live/)
  })

  it('is neither learned online nor retrained, which is said', async () => {
    const learned = await here('learn', 'svm', '--port', '0')
    expect(learned).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has 3 classes, and only models of two labels are learned'),
    })
    await run('topic', 'create', 'examples', '--partitions', '1')
    const retrained = await here('retrain', '--once', '--no-serving', '--model', MODEL)
    expect(retrained).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('only models of two labels are retrained'),
    })
  })
})

interface Quality {
  readonly accuracy: { readonly mean: number }
  readonly macroF1: number
  readonly logLoss: { readonly mean: number }
}
