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
const COUNTRIES = ['DE', 'FR', 'IT', 'ES', 'PL', 'SE'] as const
const ADS = ['sports', 'music', 'books', 'travel', 'games', 'food'] as const
/** Ads that come after the training: no table of names has them. */
const NEW_ADS = ['cars', 'shoes', 'phones', 'films', 'bikes', 'toys'] as const
const HASHING = ['--hash-bits', '14', '--crosses', 'user*ad'] as const
const random = seededRandom(11)
let folder: string
let data: string
let learning: CommandProcess
let port: string

const at = (name: string): string => join(folder, name)

/** Only the pair of a country and an ad says whether it is clicked: neither of them alone does. */
const isClicked = (country: number, ad: number): boolean => (country + ad) % 2 === 0

/** Clicks as Vowpal Wabbit reads them; `-1` is the label of what was not clicked. */
function clicks(count: number, ads: readonly string[] = ADS): string {
  const one = (): string => {
    const [country, ad] = [random.below(COUNTRIES.length), random.below(ads.length)]
    const label = isClicked(country, ad) ? 1 : -1
    const noise = `${random.normal().toFixed(3)}`
    return `${label} |user ${COUNTRIES[country]} age:${random.next().toFixed(2)} |ad ${ads[ad]} price:${noise}`
  }
  return `${Array.from({ length: count }, one).join('\n')}\n`
}

async function run(...args: string[]): Promise<CommandResult> {
  const result = await inProcess([...args, '--data-dir', data])
  if (result.code !== 0) throw new Error(`weir ${args.join(' ')}: ${result.stderr}`)
  return result
}

const refused = (...args: string[]): Promise<CommandResult> =>
  inProcess([...args, '--data-dir', data])

const ask = (...args: string[]): Promise<CommandResult> => run(...args, '--port', port)

async function produce(text: string): Promise<void> {
  const produced = await inProcess(['topic', 'produce', 'examples', '--data-dir', data], text)
  expect(produced).toMatchObject({ code: 0 })
}

async function accuracyOf(file: string, ...args: string[]): Promise<number> {
  const { stdout } = await ask('evaluate', 'svm', '--examples', at(file), '--json', ...args)
  return (JSON.parse(stdout) as { accuracy: { mean: number } }).accuracy.mean
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-hashed-'))
  data = at('data')
  writeFileSync(at('clicks.vw'), clicks(1500))
  writeFileSync(at('test.vw'), clicks(1000))
  writeFileSync(at('new.vw'), clicks(1000, NEW_ADS))
  await run(
    'train',
    'logistic',
    '--examples',
    at('clicks.vw'),
    ...HASHING,
    '--range',
    '64',
    '--publish',
  )
  await run('topic', 'create', 'examples', '--partitions', '2')
  learning = weir(['learn', 'svm', '--data-dir', data, '--port', '0', '--json', ...HASHING], {
    env: PATIENT,
  })
  port = (await learning.printed(/"started","port":(\d+)/))[1]!
  await learning.printed(/"event":"learning","version":1/)
})

afterAll(async () => {
  learning?.signal('SIGINT')
  await learning?.ended
  rmSync(folder, { recursive: true, force: true })
})

describe('a linear model of features with names', () => {
  it('learns what only a cross says, and has at most 2^N weights', async () => {
    const train = ['train', 'logistic', '--examples', at('clicks.vw'), '--test', at('test.vw')]
    const result = async (...flags: string[]) =>
      JSON.parse((await run(...train, '--json', ...flags)).stdout) as {
        features: number
        test: { accuracy: { mean: number } }
      }
    const plain = await result('--hash-bits', '14')
    const crossed = await result(...HASHING)
    expect(plain.test.accuracy.mean).toBeLessThan(0.65)
    expect(crossed.test.accuracy.mean).toBeGreaterThan(0.98)
    const tiny = await result('--hash-bits', '3', '--crosses', 'user*ad')
    expect(tiny.features).toBeLessThanOrEqual(8)
    expect(crossed.features).toBeLessThanOrEqual(2 ** 14)
  })

  it('is not trained with a cross of a namespace that no example has', async () => {
    const train = ['train', 'logistic', '--examples', at('clicks.vw'), '--hash-bits', '14']
    const { code, stderr } = await refused(...train, '--crosses', 'user*page')
    expect([code, stderr]).toEqual([2, expect.stringContaining('--crosses names page, but no')])
  })

  it('is evaluated and asked by name: by command, client and HTTP alike', async () => {
    expect(await accuracyOf('test.vw')).toBeGreaterThan(0.98)
    const text = '|user DE age:0.5 |ad sports price:0.1'
    const [said] = jsonLines((await ask('classify', text, '--json')).stdout)
    expect(said).toMatchObject({ label: 1, features: 8, unknown: 0 })
    await using client = await WeirClient.connect({ port: Number(port), deadlineMs: 60_000 })
    const { decision, label } = await client.predictLinear('SVM_MODEL', text)
    expect({ decision, label }).toEqual({ decision: said!['decision'], label: 1 })
    const other = await client.predictLinear('SVM_MODEL', '|user FR |ad sports')
    expect(other.label).toBe(-1)
    const never = await client.predictLinear('SVM_MODEL', '|user XX |ad nothing')
    expect(never.unknown).toBeGreaterThan(0)

    await using gateway = weir(
      ['gateway', '--port', port, '--listen', '127.0.0.1:0', '--json', '--data-dir', data],
      { env: PATIENT },
    )
    const url = (await gateway.printed(/"url":"([^"]+)"/))[1]!
    const described = await (await fetch(`${url}/v2/models/SVM_MODEL`)).json()
    expect(described).toMatchObject({ inputs: [{ name: 'features', datatype: 'BYTES' }] })
    const inputs = [
      { name: 'features', datatype: 'BYTES', shape: [2], data: [text, '|user FR |ad sports'] },
    ]
    const answer = await fetch(`${url}/v2/models/SVM_MODEL/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs }),
      headers: { 'content-type': 'application/json' },
    })
    expect(await answer.json()).toMatchObject({
      outputs: [
        { name: 'decision', data: [decision, other.decision] },
        { name: 'label', data: [1, -1] },
        { name: 'unknown' },
      ],
    })
  })

  it('is not trained, learned or retrained with other bits or crosses', async () => {
    const train = ['train', 'logistic', '--examples', at('clicks.vw'), '--publish', '--range', '64']
    for (const [flags, given] of [
      [['--hash-bits', '15', '--crosses', 'user*ad'], '--hash-bits 15 --crosses user*ad'],
      [['--hash-bits', '14'], '--hash-bits 14'],
    ] as const) {
      const trained = await refused(...train, ...flags)
      expect(trained).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          `has --hash-bits 14 --crosses user*ad, but this one has ${given};`,
        ),
      })
      const learned = await refused('learn', 'svm', '--port', '0', ...flags)
      expect(learned).toMatchObject({ code: 2, stderr: expect.stringContaining(given) })
      const retrain = ['retrain', '--once', '--no-serving', '--model', MODEL]
      const retrained = await refused(...retrain, ...flags)
      expect(retrained).toMatchObject({ code: 2, stderr: expect.stringContaining(given) })
    }
    const ids = at('ids.svm')
    writeFileSync(ids, '1 1:1\n-1 2:1\n')
    const trained = await refused('train', 'svm', '--examples', ids, '--publish', '--range', '64')
    expect(trained).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('but this one has no --hash-bits'),
    })
  })

  it('begins empty, and learns what its topic has, here by FTRL-proximal', async () => {
    const own = ['--topic', 'empty-model'] as const
    writeFileSync(at('empty.txt'), 'bias,0\n')
    const load = ['model', 'load', '--kind', 'linear', at('empty.txt'), '--range', '64', ...own]
    await run(...load, ...HASHING)
    writeFileSync(at('large.txt'), '16384,1\n')
    const large = ['model', 'load', '--kind', 'linear', at('large.txt'), '--topic', 'other-model']
    expect(await refused(...large, ...HASHING)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a feature 16384, which is no hash of --hash-bits 14'),
    })
    await run('topic', 'create', 'clicks', '--partitions', '1')
    const clicked = ['topic', 'produce', 'clicks', '--data-dir', data]
    expect(await inProcess(clicked, clicks(1500))).toMatchObject({ code: 0 })
    const rule = ['--rule', 'ftrl', '--alpha', '0.5', '--l1', '1'] as const
    const flags = ['--loss', 'logistic', '--observations', 'clicks', '--learn-from', 'start']
    await using empty = weir(
      ['learn', 'svm', ...own, ...flags, ...rule, '--data-dir', data, '--port', '0', '--json'],
      { env: PATIENT },
    )
    const [, emptyPort] = await empty.printed(/"started","port":(\d+)/)
    const evaluate = [
      'evaluate',
      'svm',
      '--examples',
      at('test.vw'),
      '--json',
      '--port',
      emptyPort!,
    ]
    const accuracy = async (): Promise<number> =>
      JSON.parse((await run(...evaluate, ...own)).stdout).accuracy.mean
    await expect.poll(accuracy, { interval: 300 }).toBeGreaterThan(0.9)
    empty.signal('SIGINT')
    await empty.ended
  })

  it('learns from a topic, refuses what is no example, and is retrained with its hash', async () => {
    expect(await accuracyOf('new.vw')).toBeLessThan(0.9)
    await produce(clicks(1500, NEW_ADS))
    await produce('1 |user DE:x\n|user DE\n')
    await expect.poll(() => accuracyOf('new.vw'), { interval: 300 }).toBeGreaterThan(0.95)
    const flags = ['--model', MODEL, '--golden', at('new.vw'), '--max-latency', '60000']
    const { stdout } = await ask('retrain', '--once', ...flags, '--json')
    const outcome = jsonLines(stdout).at(-1)
    expect(outcome).toMatchObject({
      event: 'promoted',
      version: {
        number: 2,
        lineage: {
          hyperparameters: { hashBits: 14, crosses: 'user*ad', loss: 'logistic' },
          metrics: { observations: 1500, unparsable: 2 },
        },
      },
    })
    await expect
      .poll(() => accuracyOf('new.vw', '--version', '2'), { interval: 300 })
      .toBeGreaterThan(0.98)
  })
})
