import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { type ForgetOptions, forget } from '../../../src/jobs/erasure/forget.ts'
import { PLACE_NAMES, PLACES, type PlaceName } from '../../../src/jobs/erasure/places.ts'
import { type Finding, prove } from '../../../src/jobs/erasure/prove.ts'
import {
  COUNTS_VERSION,
  ITEM_COUNTS,
  KNOWN_ITEMS,
  USER_COUNTS,
} from '../../../src/jobs/histories/states.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { serveHistories } from '../../../src/jobs/serve/histories.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { deltasTopic } from '../../../src/models/topic/topics.ts'
import { loadStorage } from '../../../src/runtime/checkpoint/storage/load.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { until } from '../../run/until.ts'
import {
  type Learning,
  metric,
  OBSERVATIONS,
  servedRows,
  TOPIC,
  WriteBackFixture,
} from '../write-back/fixture.ts'

const ALSO = 'golden'
const QUARANTINE = 'refused'
const UNNAMED = 'copy-of-someone'

let stream: Rating[]
let user: string
let fixture: WriteBackFixture
let learning: Learning
let before: ReadonlyMap<string, string>
let histories: ServedJob
let historyReads: WeirClient

/** The records of a topic by place: partition, offset, key and value. */
async function recordsOf(topic: string): Promise<Map<string, string>> {
  const records = new Map<string, string>()
  await scanTopic(fixture.topics, topic, (record, partition) => {
    const hex = (bytes: Uint8Array | null): string =>
      bytes === null ? 'null' : Buffer.from(bytes).toString('latin1')
    records.set(
      `${topic}/${partition}/${record.offset}`,
      `${hex(record.key())} ${hex(record.value())}`,
    )
    return true
  })
  return records
}

/** The records of all topics, in the order of their places: partitions are read in any order. */
async function allRecords(): Promise<Map<string, string>> {
  const all: [string, string][] = []
  for (const topic of await fixture.topics.topics()) all.push(...(await recordsOf(topic)))
  return new Map(all.sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function produce(topic: string, lines: readonly string[]): Promise<void> {
  const producer = await fixture.topics.producer(topic)
  for (const line of lines) producer.sendRecord(null, Buffer.from(line), 1, 0, [])
  await producer.sync()
  await producer.close()
}

const named = () => ({
  ...{ topics: fixture.topics, user, versions: [1], model: TOPIC },
  ...{ observations: OBSERVATIONS, also: [ALSO], quarantine: [QUARANTINE] },
})
const forgetting = (): ForgetOptions => ({ ...named(), clock: systemClock })

async function findings(job: ServedJob): Promise<readonly Finding[]> {
  await using client = await WeirClient.connect({ port: job.port, deadlineMs: 60_000 })
  const storage = await loadStorage(join(fixture.root, 'first', 'checkpoints'))
  try {
    const files = [join(fixture.root, 'bad-lines.csv')]
    return await prove({ ...named(), storage, served: [client, historyReads], files })
  } finally {
    await storage.close()
  }
}

/** Places where something was found. */
const foundIn = (found: readonly Finding[]): readonly PlaceName[] => [
  ...new Set(found.filter(({ verdict }) => verdict === 'found').map(({ place }) => place)),
]

/** The items that a user has rated, of the job of histories. */
const knownItems = (who: string) => historyReads.get<Map<string, number>>(KNOWN_ITEMS, who)

/** What the ratings of some users make of the histories: the last rating of each item, by user, and the users of each item. */
function expectedHistories(ratings: readonly Rating[]) {
  const items = new Map<string, Map<string, number>>()
  for (const { user: who, item, rating } of ratings) {
    const known = items.get(who) ?? new Map<string, number>()
    items.set(who, known.set(item, rating))
  }
  const counts = new Map<string, number>()
  for (const known of items.values()) {
    for (const item of known.keys()) counts.set(item, (counts.get(item) ?? 0) + 1)
  }
  return { items, counts }
}

beforeAll(async () => {
  const all = [...generateRatings({ users: 60, items: 40, ratings: 3000, seed: 8 })]
  const model = await trainAls(ratingsTable(all.slice(0, 1500)), {
    ...{ factors: 4, iterations: 2, threads: 0 },
  })
  stream = all.slice(1500)
  // The learner keeps a frozen copy of him, too, as of all users.
  user = stream[0]!.user
  fixture = await WriteBackFixture.start(model)
  for (const topic of [ALSO, QUARANTINE, UNNAMED]) await fixture.topics.create(topic, {})
  learning = await fixture.learn('first')
  await fixture.rate(stream)
  await fixture.untilLearned(learning.job, stream.length)
  before = await allRecords()
  histories = await serveHistories({
    place: { logDirectory: dataDirectory(fixture.root).log },
    observations: OBSERVATIONS,
    configuration: {
      'execution.checkpointing.interval': '200 ms',
      'execution.checkpointing.dir': join(fixture.root, 'histories', 'checkpoints'),
      'state.backend.directory': join(fixture.root, 'histories', 'state'),
    },
    port: 0,
  })
  // A client knows the states that there were when it connected.
  const connect = () => WeirClient.connect({ port: histories.port, deadlineMs: 60_000 })
  await until('the job of histories has its states', async () => {
    await using client = await connect()
    return client.routing.states.some(({ name }) => name === KNOWN_ITEMS)
  })
  historyReads = await connect()
  const { items } = expectedHistories(stream)
  await until('the histories have all ratings', async () => {
    const sizes = [...items].map(async ([who, own]) => (await knownItems(who))?.size === own.size)
    return (await Promise.all(sizes)).every((isSame) => isSame)
  })
})

afterAll(async () => {
  await historyReads?.close()
  await histories?.close()
  await learning?.job.close()
  await fixture?.[Symbol.asyncDispose]()
})

describe('a search for a person', () => {
  it('finds nothing of one who never was there', async () => {
    const others = { ...named(), user: 'nobody-of-this-name' }
    const found = await prove({ ...others, storage: undefined, served: [], files: [] })
    expect(foundIn(found)).toEqual([])
    expect(found.map(({ place }) => place)).toEqual(PLACE_NAMES)
  })

  /** A trace in each place: what the jobs of this test have left there by themselves, or what is put there. */
  const TRACES: Readonly<Record<PlaceName, (() => Promise<void>) | 'there' | 'nothing-kept'>> = {
    observations: 'there',
    'other-ratings': () => produce(ALSO, [`${user},7,5`, '7,7,5']),
    quarantine: () => produce(QUARANTINE, [`${user},7,no number`, 'x']),
    // Deltas are of a person only by their ratings: one of the ratings is erased and no more.
    deltas: async () => {
      const [place] = [...before].find(([at, text]) => {
        return at.startsWith(`${OBSERVATIONS}/`) && text.startsWith(`${user} ${user},`)
      })!
      const [, partition, offset] = place.split('/').map(Number)
      await fixture.topics.stored!.erase(OBSERVATIONS, new Map([[partition!, [offset!]]]))
    },
    rows: 'there',
    'unnamed-topics': () => produce(UNNAMED, [`${user},9,1`]),
    served: 'there',
    histories: 'there',
    checkpoints: 'there',
    files: async () => {
      writeFileSync(join(fixture.root, 'bad-lines.csv'), `x\n${user},1,none\n7,${user},2\n`)
    },
    'item-rows': 'nothing-kept',
    registry: 'nothing-kept',
    'gateway-and-dashboard': 'nothing-kept',
    'rate-limits': 'nothing-kept',
  }

  it.each(PLACE_NAMES)(
    'finds a trace in this place, or says why there is none: %s',
    async (place) => {
      const trace = TRACES[place]
      if (typeof trace === 'function') {
        expect(foundIn(await findings(learning.job))).not.toContain(place)
        await trace()
      }
      const found = await findings(learning.job)
      if (trace === 'nothing-kept') {
        expect(PLACES[place].search).toBe('none')
        expect(found.filter((one) => one.place === place)).toEqual([
          expect.objectContaining({ verdict: 'nothing-kept' }),
        ])
      } else expect(foundIn(found), JSON.stringify(found)).toContain(place)
    },
  )
})

describe('a person who is forgotten while the job runs', () => {
  it('leaves topics, the rows that are served, and every checkpoint from then on', async () => {
    const parts = await forget(forgetting())
    expect(parts.filter(({ count }) => count > 0).map(({ place }) => place)).toEqual([
      ...['observations', 'other-ratings', 'quarantine', 'deltas', 'histories', 'histories'],
      ...['rows', 'rows'],
    ])
    await until('the job has dropped the row', async () => {
      return !(await servedRows(learning.job)).has(`${user}-U`)
    })
    await until('the histories have dropped the user', async () => {
      return (await knownItems(user)) === undefined
    })
    // What is retained of older checkpoints goes with the next ones; old bytes stay until a chain is compacted.
    await until('no retained checkpoint would bring it back', async () => {
      await learning.job.execution.takeCheckpoint()
      return (await findings(learning.job)).every(({ detail }) => !detail.startsWith('a restore'))
    })
    // What the command does not do by itself, and says.
    const left = foundIn(await findings(learning.job))
    expect(left.filter((place) => place !== 'checkpoints')).toEqual([
      ...['unnamed-topics', 'files'],
    ])
  })

  it('leaves the histories of all others, and the counts of items without the one who is forgotten', async () => {
    const { items, counts } = expectedHistories(stream.filter((rating) => rating.user !== user))
    const version = { version: COUNTS_VERSION }
    for (const [who, own] of items) {
      expect(await knownItems(who), who).toEqual(own)
      const count = await historyReads.get<Float32Array>(USER_COUNTS, who, version)
      expect(count?.[0], who).toBe(own.size)
    }
    for (const item of new Set(stream.map((rating) => rating.item))) {
      const isSame = async (): Promise<boolean> => {
        const count = await historyReads.get<Float32Array>(ITEM_COUNTS, item, version)
        return count?.[0] === counts.get(item)
      }
      await until(`the count of item ${item} is that of the others`, isSame)
    }
  })

  it('takes nothing of anyone else: every other record is there once, at its offset', async () => {
    const after = await allRecords()
    const isHis = (place: string, record: string): boolean => {
      const [key = '', value = ''] = record.split(' ')
      if (place.startsWith(`${deltasTopic(TOPIC)}/`)) return false
      return value.startsWith(`${user},`) || key.startsWith(`${user}-U`)
    }
    const kept = [...before].filter(([place, record]) => !isHis(place, record))
    const deltas = kept.filter(([place]) => place.startsWith(deltasTopic(TOPIC)))
    const others = kept.filter(([place]) => !place.startsWith(deltasTopic(TOPIC)))
    expect(others.filter(([place, record]) => after.get(place) !== record)).toEqual([])
    const hisRatings = stream.filter((rating) => rating.user === user).length
    expect(deltas.filter(([place]) => !after.has(place))).toHaveLength(hisRatings)
  })

  it('is forgotten once more without a change but the tombstones', async () => {
    const first = await allRecords()
    const parts = await forget(forgetting())
    expect(parts.filter(({ count }) => count > 0).map(({ did }) => did)).toEqual([
      ...['announced', 'announced', 'tombstones', 'erased'],
    ])
    const second = await allRecords()
    const isTombstone = (record: string): boolean =>
      record === `${user}-U@1 null` || record === `${user} null`
    const rest = (records: ReadonlyMap<string, string>) =>
      [...records].filter(([, record]) => !isTombstone(record))
    expect(rest(second)).toEqual(rest(first))
    // One of the row, and one in each partition of the two topics of ratings.
    expect([...second.values()].filter(isTombstone)).toHaveLength(1 + 3 + 1)
  })

  it('lets the job go on from its checkpoint: no rating of anyone is learned twice, or lost', async () => {
    const learned = await metric(learning.job, 'ratingsLearned')
    await learning.kill(0)
    expect((await servedRows(learning.job)).has(`${user}-U`)).toBe(false)
    const rows = await servedRows(learning.job)
    await learning.job.close()
    learning = await fixture.learn('first')
    const more = stream.filter((rating) => rating.user !== user).slice(0, 50)
    await fixture.rate(more)
    await until('the new ratings are learned', async () => {
      return (await metric(learning.job, 'ratingsLearned')) === more.length
    })
    expect(learned).toBe(stream.length)
    const touched = new Set(more.flatMap(({ user: who, item }) => [`${who}-U`, `${item}-I`]))
    const now = await servedRows(learning.job)
    for (const [key, row] of rows) if (!touched.has(key)) expect(now.get(key), key).toBe(row)
    expect(now.has(`${user}-U`)).toBe(false)
  })
})
