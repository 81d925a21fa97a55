import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { RatingError } from '../../../src/jobs/learning/error/rating-error.ts'
import { formatRating } from '../../../src/models/ratings/format.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { liveVersionOf, type RegisteredVersion } from '../../../src/models/registry/version.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { HdfsCheckpointStorage } from '../../../src/runtime/checkpoint/storage/hdfs.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings } from '../../../src/training/evaluate/ratings-topic.ts'
import { evaluateServed } from '../../../src/training/evaluate/served.ts'
import { pause } from '../../run/pause.ts'
import { until, untilPasses } from '../../run/until.ts'
import { type SharedHdfs, sharedHdfs } from '../../services/lending/hdfs.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { type CommandProcess, PATIENT, weir } from '../cli/command-process.ts'
import { runVerb } from './run-verb.ts'

const USERS = 300
const ITEMS = 120
const FACTORS = 3
const random = seededRandom(7)
const rows = (count: number): readonly (readonly number[])[] =>
  Array.from({ length: count }, () => Array.from({ length: FACTORS }, () => random.normal()))
const users = rows(USERS)
const items = rows(ITEMS)
let seconds = 1_600_000_000

/** Ratings of pairs of the world: a fifth of all pairs is held out of what is trained and learned. */
function ratings(count: number, isHeldOut: boolean): Rating[] {
  const found: Rating[] = []
  while (found.length < count) {
    const [user, item] = [random.below(USERS), random.below(ITEMS)]
    if (((user + 2 * item) % 5 === 0) !== isHeldOut) continue
    const taste = users[user]!.reduce((sum, each, f) => sum + each * items[item]![f]!, 0)
    const rating = Math.max(1, Math.min(5, 3 + 0.6 * taste + 0.3 * random.normal()))
    seconds += 1
    found.push({ user: `u${user}`, item: `i${item}`, rating, timestamp: seconds * 1000 })
  }
  return found
}

const csv = (all: readonly Rating[]): string =>
  all.map((each) => `${formatRating(each, 'csv')}\n`).join('')

const HISTORY = 8000
const FRESH = 3000
const test = ratings(1500, true)
const golden = ratings(1500, true)

let kafka: SharedKafka
let hdfs: SharedHdfs
let folder: string
let learning: CommandProcess
let loop: CommandProcess

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-thesis-loop-'))
  kafka = await sharedKafka()
  hdfs = await sharedHdfs()
})

afterAll(async () => {
  await loop?.[Symbol.asyncDispose]()
  await learning?.[Symbol.asyncDispose]()
  await kafka?.[Symbol.asyncDispose]()
  await hdfs?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

async function done(...argv: string[]): Promise<void> {
  const { code, err } = await runVerb([...argv, '--brokers', kafka.bootstrap])
  expect(code, `weir ${argv.join(' ')}: ${err}`).toBe(0)
}

async function liveVersion(): Promise<RegisteredVersion> {
  const place = { kafka: { brokers: kafka.bootstrap } }
  const state = await new ModelRegistry({ place, clock: systemClock }).read()
  return liveVersionOf(state, 'als-model')!
}

/** Number of fresh ratings that the live version was trained on or has learned. */
async function known(client: WeirClient): Promise<number> {
  const { number, lineage } = await liveVersion()
  const trained = [...lineage.ranges, ...(lineage.replayed ?? [])]
  const before = trained.reduce((sum, { read }) => sum + (read?.all.count ?? 0), 0)
  const [answer] = await client.values('LEARNING_ERROR', [String(number)])
  if (answer?.ok !== true) return before
  return before + msgpackSerializer<RatingError>().read(new ByteReader(answer.value)).ratings
}

/** An error on the test set, and the version that was live before it was measured. */
interface Sample {
  readonly version: number
  readonly mse: number
}

async function sample(client: WeirClient): Promise<Sample> {
  await client.refreshRouting()
  const before = client.routing.states.find(({ name }) => name === 'ALS_MODEL')?.liveVersion ?? 0
  const options = { state: 'ALS_MODEL', query: {}, range: { min: 1, max: 5 } }
  const { mse } = await evaluateServed(client, ratingsTable(test), options)
  return { version: before, mse }
}

it('history on HDFS is trained, served, learned on, measured each second, and retrained with fresh data, twice', async () => {
  const storage = new HdfsCheckpointStorage(hdfs.url('/thesis'))
  const history = ratings(HISTORY, false)
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
  await storage.createExclusive('history/part-0', bytes(csv(history.slice(0, 5000))))
  await storage.createExclusive('history/part-1', bytes(csv(history.slice(5000))))
  const place = hdfs.url('/thesis/history')
  const at = (name: string): string => join(folder, name)
  writeFileSync(at('test.csv'), csv(test))
  writeFileSync(at('golden.csv'), csv(golden))

  await done('train', 'bmf', '--ratings', place)
  const brokers = ['--brokers', kafka.bootstrap]
  const data = ['--data-dir', at('data')]
  learning = weir(['learn', 'als', '--port', '0', '--json', ...brokers, ...data], { env: PATIENT })
  const port = (await learning.printed(/"started","port":(\d+)/))[1]!
  await learning.printed(/"event":"learning","version":1/)
  await using client = await WeirClient.connect({ port: Number(port), deadlineMs: 60_000 })

  loop = weir(
    [
      ...['retrain', '--ratings', place, '--golden', at('golden.csv')],
      ...['--evaluate', at('test.csv'), '--every', '1', '--error-level', '0.01'],
      // Of a machine that runs other tests, too.
      ...['--max-latency', '60000', '--port', port, ...brokers, ...data],
    ],
    { env: PATIENT },
  )
  await loop.printed(/MSE [\d.]+ of version 1 on the 1500 observations of .*test.csv/)

  const samples: Sample[] = []
  const watching = new AbortController()
  const watched = (async () => {
    while (!watching.signal.aborted) {
      samples.push(await sample(client))
      await pause(1000, 'the error is looked at each second, as a user of the thesis does')
    }
  })()
  await using topics = await openTopics({ kafka: { brokers: kafka.bootstrap } })
  for (const version of [2, 3]) {
    const feed = { topics, topic: 'observations', feed: `feed-${version}`, clock: systemClock }
    await feedRatings(ratingsTable(ratings(FRESH, false)), feed)
    await loop.printed(new RegExp(`version ${version} is live`))
    await learning.printed(new RegExp(`"event":"learning","version":${version}`))
    await until(`version ${version} is measured`, () =>
      samples.some((each) => each.version >= version),
    )
  }
  await untilPasses(async () => expect(await known(client)).toBe(2 * FRESH))
  samples.push(await sample(client))
  watching.abort()
  await watched
  console.info(JSON.stringify(samples))

  const { lineage } = await liveVersion()
  expect(lineage.files).toMatchObject([{ read: { count: HISTORY } }])
  expect(learning.hasEnded).toBe(false)
  expect(loop.hasEnded).toBe(false)
  for (const [n, { version, mse }] of samples.entries()) {
    const before = samples.slice(0, n).findLast((each) => each.version < version)
    if (before !== undefined) expect(mse).toBeLessThanOrEqual(before.mse + 0.01)
  }
  expect(samples.at(-1)!.mse).toBeLessThan(samples[0]!.mse)
})
