import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTopics } from '../../../../src/connectors/topics/open.ts'
import { scanTopic } from '../../../../src/connectors/topics/scan.ts'
import { dataDirectory } from '../../../../src/jobs/serve/data-directory.ts'
import { generateRatings } from '../../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../../src/models/ratings/rating.ts'
import { inProcess } from '../../../cli/command-here.ts'
import { until } from '../../../run/until.ts'
import { weir } from '../../cli/command-process.ts'

const BASE = 3000
const FRESH = 3000

let folder: string
const at = (name: string): string => join(folder, name)

const ratings: readonly Rating[] = [
  ...generateRatings({ users: 150, items: 60, ratings: BASE + FRESH + 1500, seed: 5 }),
]
const base = ratings.slice(0, BASE)
const fresh = ratings.slice(BASE, BASE + FRESH)
const golden = ratings.slice(BASE + FRESH)
/** Pairs whose predictions are compared: of users and items that both versions know. */
const PAIRS = base.slice(0, 20)

const linesOf = (some: readonly Rating[]): string =>
  some.map(({ user, item, rating }) => `${user},${item},${rating}\n`).join('')

/** What a command that succeeds prints and says. */
async function ok(words: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await inProcess([...words, '--data-dir', at('data')], input)
  expect(code, `weir ${words.join(' ')}: ${stderr}`).toBe(0)
  return stdout + stderr
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-other-factors-'))
  writeFileSync(at('base.csv'), linesOf(base))
  writeFileSync(at('golden.csv'), linesOf(golden))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The last row of each key of a version in the model topic. */
async function rowsOf(version: number): Promise<ReadonlyMap<string, Float32Array>> {
  await using topics = await openTopics({ logDirectory: dataDirectory(at('data')).log })
  const rows = new Map<string, Float32Array>()
  await scanTopic(topics, 'als-model', (record) => {
    const [key, of] = Buffer.from(record.key()!).toString().split('@')
    const isRow = of === String(version) && !key!.startsWith('!')
    if (isRow) rows.set(key!, new Float32Array(Uint8Array.from(record.value()!).buffer))
    return true
  })
  return rows
}

/** Scores of the pairs by rows alone. */
function productsOf(rows: ReadonlyMap<string, Float32Array>): readonly number[] {
  return PAIRS.map(({ user, item }) => {
    const right = rows.get(`${item}-I`)!
    return rows.get(`${user}-U`)!.reduce((sum, factor, n) => sum + factor * right[n]!, 0)
  })
}

interface Predicted {
  readonly score: number
  readonly modelVersion: number
}

function starts() {
  const words = ['learn', 'als', '--port', '0', '--json', '--data-dir', at('data')]
  return weir([...words, '-D', 'execution.checkpointing.interval=200 ms'])
}

/** Predictions of the pairs, which all are of one version. */
async function predictions(port: string, version: number): Promise<readonly number[]> {
  const scores: number[] = []
  for (const { user, item } of PAIRS) {
    const words = ['predict', user, item, '--json', '--port', port]
    const { code, stdout, stderr } = await inProcess(words)
    expect(code, stderr).toBe(0)
    const { score, modelVersion } = JSON.parse(stdout) as Predicted
    expect(modelVersion).toBe(version)
    scores.push(score)
  }
  return scores
}

function expectNear(scores: readonly number[], expected: readonly number[]): void {
  for (const [n, score] of scores.entries()) expect(score).toBeCloseTo(expected[n]!, 4)
}

it('a version with more factors is trained warm beside the live one, promoted, served after a kill, and rolled back', async () => {
  await ok(['topic', 'create', 'observations', '--partitions', '2'])
  await ok(['topic', 'produce', 'observations'], linesOf(base))
  const train = ['train', 'als', '--ratings', at('base.csv'), '--factors', '4', '--threads', '0']
  await ok([...train, '--in-topic', 'observations'])
  await using learning = starts()
  const [, port = ''] = await learning.printed(/"started","port":(\d+)/)
  await learning.printed(/"event":"learning","version":1/)
  expectNear(await predictions(port, 1), productsOf(await rowsOf(1)))
  await ok(['topic', 'produce', 'observations'], linesOf(fresh))
  await until('the ratings are learned', async () => {
    const words = ['query', 'LEARNING_ERROR', '1', '--values', '--port', port]
    return (await inProcess(words)).stdout.includes(`"ratings":${FRESH},`)
  })
  const retrain = ['retrain', '--once', '--threads', '0']
  const text = await ok([...retrain, '--factors', '6', '--port', port])
  expect(text).toContain('warm start from')
  const learned = await predictions(port, 1)
  // The slowest answer of a machine that runs other tests, too, may be above the limit.
  const patient = ['--max-latency', '60000', '--port', port]
  const promote = ['model', 'promote', '2', '--golden', at('golden.csv'), ...patient]
  expect(await ok(promote)).toContain('version 2')
  await learning.printed(/"event":"learning","version":2/)
  const rows = await rowsOf(2)
  expect(new Set([...rows.values()].map(({ length }) => length))).toEqual(new Set([8]))
  expectNear(await predictions(port, 2), productsOf(rows))
  const list = await inProcess(['recommend', PAIRS[0]!.user, '--k', '3', '--json', '--port', port])
  expect(list.code, list.stderr).toBe(0)

  learning.signal('SIGKILL')
  await learning.ended
  await using again = starts()
  const [, next = ''] = await again.printed(/"started","port":(\d+)/)
  await again.printed(/"event":"learning","version":2/)
  expectNear(await predictions(next, 2), productsOf(rows))
  expect(await ok(['model', 'rollback'])).toContain('version 1 of als-model is live again')
  await again.printed(/"event":"learning","version":1/)
  expectNear(await predictions(next, 1), learned)
  // Fewer factors than the live version has are trained, too, from random rows.
  const cold = await ok([...retrain, '--factors', '2', '--port', next])
  expect(cold).toContain('cold start, from random rows: version 1 has 4 factors')
})
