import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { inProcess } from '../../cli/command-here.ts'
import { until } from '../../run/until.ts'
import { type CommandResult, weir } from '../cli/command-process.ts'

const MODEL = 'popularity-model'
const BASE = 9000
const FRESH = 1500
/** Of `weir train popularity`. */
const DAMPING = 5

let folder: string
const at = (name: string): string => join(folder, name)

const ratings: readonly Rating[] = [
  ...generateRatings({ users: 400, items: 200, ratings: BASE + FRESH + 3000, seed: 5 }),
]
const base = ratings.slice(0, BASE)
const fresh = ratings.slice(BASE, BASE + FRESH)
const golden = ratings.slice(BASE + FRESH)

const linesOf = (some: readonly Rating[]): string =>
  some.map(({ user, item, rating }) => `${user},${item},${rating}\n`).join('')

const meanOf = (some: readonly Rating[]): number =>
  some.reduce((sum, { rating }) => sum + rating, 0) / some.length

/** By item, its mean with some ratings of the mean of all, computed from the ratings alone. */
function dampedMeans(some: readonly Rating[], mean: number): ReadonlyMap<string, number> {
  return new Map(
    [...Map.groupBy(some, ({ item }) => item)].map(([item, own]) => {
      const sum = own.reduce((total, { rating }) => total + rating, DAMPING * mean)
      return [item, sum / (own.length + DAMPING)]
    }),
  )
}

/** The best items, best first. */
const bestOf = (means: ReadonlyMap<string, number>, count: number): readonly string[] =>
  [...means]
    .sort((a, b) => b[1] - a[1])
    .slice(0, count)
    .map(([item]) => item)

async function run(...args: string[]): Promise<CommandResult> {
  return await inProcess([...args, '--data-dir', at('data')])
}

async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args)
  expect(code, `weir ${args.join(' ')}: ${stderr}`).toBe(0)
  return stdout
}

async function produce(topic: string, some: readonly Rating[]): Promise<void> {
  const words = ['topic', 'produce', topic, '--data-dir', at('data')]
  const { code, stderr } = await inProcess(words, linesOf(some))
  expect(code, stderr).toBe(0)
}

interface Predicted {
  readonly score: number
  readonly modelVersion: number
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-popularity-'))
  writeFileSync(at('base.csv'), linesOf(base))
  writeFileSync(at('golden.csv'), linesOf(golden))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('a popularity model is trained, served, learned, checked, trained again and promoted, with the defaults', async () => {
  await ok('topic', 'create', 'observations', '--partitions', '2')
  await produce('observations', base)
  await ok('train', 'popularity', '--ratings', at('base.csv'), '--in-topic', 'observations')
  await using learning = weir([
    'learn',
    'als',
    '--topic',
    MODEL,
    '--port',
    '0',
    '--json',
    '--data-dir',
    at('data'),
  ])
  const [, port = ''] = await learning.printed(/"started","port":(\d+)/)
  await learning.printed(/"event":"learning","version":1/)
  const predicted = async (item: string): Promise<Predicted> => {
    const { code, stdout, stderr } = await inProcess([
      'predict',
      '1',
      item,
      '--json',
      '--port',
      port,
    ])
    expect(code, stderr).toBe(0)
    return JSON.parse(stdout) as Predicted
  }
  /** Compares predictions of all items over TCP, and the best list, with those that were computed here. */
  const expectServed = async (means: ReadonlyMap<string, number>): Promise<void> => {
    for (const [item, mean] of [...means].slice(0, 50)) {
      expect((await predicted(item)).score, `item ${item}`).toBeCloseTo(mean, 4)
    }
    const list = await inProcess(['recommend', '1', '--k', '5', '--json', '--port', port])
    const items = list.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { item: string }).item)
    expect(items, list.stderr).toEqual(bestOf(means, 5))
  }
  const mean = meanOf(base)
  await expectServed(dampedMeans(base, mean))

  const evaluated = async () => {
    const words = [
      'evaluate',
      '--ratings',
      at('golden.csv'),
      '--topic',
      MODEL,
      '--port',
      port,
      '--json',
    ]
    return JSON.parse(await ok(...words)) as { rmse: number; baseline: { rmse: number } }
  }
  const trained = await evaluated()
  expect(trained.rmse).toBeCloseTo(trained.baseline.rmse, 5)

  // The learner goes on after what the version was trained on: every rating counts once.
  await produce('observations', fresh)
  await until('the ratings are learned', async () => {
    const error = ['query', 'LEARNING_ERROR', '1', '--values', '--port', port]
    return (await inProcess(error)).stdout.includes(`"ratings":${FRESH},`)
  })
  const withFresh = dampedMeans([...base, ...fresh], mean)
  // A rating is counted when it is predicted; the row of its item changes a little later.
  await using client = await WeirClient.connect({ port: Number(port), deadlineMs: 60_000 })
  await until('all of them are in the rows', async () => {
    const pairs = [...withFresh].map(async ([item, mean]) => {
      const { score } = await client.predict('ALS_MODEL', '1-U', `${item}-I`)
      return Math.abs(score - mean) < 1e-5
    })
    return (await Promise.all(pairs)).every(Boolean)
  })
  await expectServed(withFresh)
  const learned = await evaluated()
  expect(learned.rmse).toBeLessThan(learned.baseline.rmse)
  await using gateway = weir([
    'gateway',
    '--listen',
    '127.0.0.1:0',
    '--port',
    port,
    '--json',
    '--data-dir',
    at('data'),
  ])
  const [, url] = await gateway.printed(/"url":"([^"]+)"/)
  const answer = await fetch(`${url}/v1/predict/1/1`)
  const { score } = (await answer.json()) as Predicted
  expect(score).toBeCloseTo((await predicted('1')).score, 6)

  const halves = Array.from({ length: 400 }, (_, n) => `${n + 1},${n % 2 === 0 ? 'odd' : 'even'}\n`)
  writeFileSync(at('users.csv'), `user,half\n${halves.join('')}`)
  const cohorts = ['--golden', at('golden.csv'), '--cohorts', at('users.csv')]
  // The slowest answer of a machine that runs other tests, too, may be above the limit.
  const patient = ['--max-latency', '60000', '--port', port]
  const promoted = await run('retrain', '--model', MODEL, '--once', ...cohorts, ...patient)
  expect(promoted.stdout, promoted.stderr).toContain('version 2 is live')
  const said = promoted.stdout + promoted.stderr
  expect(said).toMatch(
    /\busers of half=(odd|even): MSE [\d.]+ against [\d.]+ of live, on \d+ golden/,
  )
  expect(said).toContain('certain rise of MSE of')
  await learning.printed(/"event":"learning","version":2/)
  const shown = JSON.parse(await ok('model', 'show', '2', '--model', MODEL, '--json'))
  expect(shown.lineage).toMatchObject({
    code: 'popularity/1',
    hyperparameters: { trainer: 'popularity', damping: DAMPING },
  })
  const all = [...base, ...fresh]
  await expectServed(dampedMeans(all, meanOf(all)))
  expect((await predicted('1')).modelVersion).toBe(2)
  expect(await ok('model', 'rollback', '--model', MODEL)).toContain(
    'version 1 of popularity-model is live again',
  )

  learning.signal('SIGINT')
  await learning.ended
  const gram = await run('learn', 'als', '--topic', MODEL, '--rule', 'gram', '--port', '0')
  expect(gram).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is learned by the rule of its kind, popularity'),
  })
})
