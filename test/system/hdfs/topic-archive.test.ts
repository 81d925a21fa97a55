import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { filesBelow } from '../../../src/connectors/file/list.ts'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { tracesIn } from '../../../src/jobs/erasure/files.ts'
import { Person } from '../../../src/jobs/erasure/person.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings } from '../../../src/training/evaluate/ratings-topic.ts'
import { untilPasses } from '../../run/until.ts'
import { type SharedHdfs, sharedHdfs } from '../../services/lending/hdfs.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { PATIENT, weir } from '../cli/command-process.ts'
import { runVerb } from '../kafka/run-verb.ts'

let kafka: SharedKafka
let hdfs: SharedHdfs
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-archive-hdfs-'))
  kafka = await sharedKafka()
  hdfs = await sharedHdfs()
})

afterAll(async () => {
  await kafka?.[Symbol.asyncDispose]()
  await hdfs?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

async function feed(ratings: readonly Rating[], feed: string): Promise<void> {
  await using topics = await openTopics({ kafka: { brokers: kafka.bootstrap } })
  await feedRatings(ratingsTable(ratings), { topics, topic: 'ratings', feed, clock: systemClock })
}

/** Ratings, users and items that a training on the archive reads. */
async function read(place: string): Promise<Record<string, unknown>> {
  const { code, err, json } = await runVerb([
    ...['train', 'popularity', '--ratings', place, '--no-publish', '--json'],
    ...['--brokers', kafka.bootstrap],
  ])
  expect(code, err).toBe(0)
  return json()[0]!
}

it('a topic of Kafka is archived to HDFS while it grows, over a kill, and trainings read each rating once, also beside the topic', async () => {
  const all = [...generateRatings({ users: 100, items: 40, ratings: 3000, seed: 6 })]
  const place = hdfs.url('/archive')
  const argv = ['topic', 'archive', 'ratings', '--ratings', '--to', place]
  const brokers = ['--brokers', kafka.bootstrap]
  await feed(all.slice(0, 1000), 'first')
  const running = weir([...argv, ...brokers, '--every', '0.2'], { env: PATIENT })
  await running.printed(/archived 1000 records/)
  await feed(all.slice(1000, 2000), 'second')
  await untilPasses(async () => expect(await read(place)).toMatchObject({ ratings: 2000 }))
  await running[Symbol.asyncDispose]()
  await feed(all.slice(2000), 'third')
  const { code, out, err } = await runVerb([...argv, ...brokers])
  expect(code, err).toBe(0)
  expect(out).toContain('archived 1000 records')
  const expected = ratingsTable(all)
  expect(await read(place)).toMatchObject({
    ratings: 3000,
    users: expected.users.length,
    items: expected.items.length,
  })

  // The search for a person reads the part files, also those that a kill left unfinished.
  const [{ user }] = all as [Rating]
  let found = 0
  for (const file of await filesBelow(place)) {
    const { count } = await tracesIn(file, new Person(user))
    if (!file.includes('.pending')) found += count
  }
  expect(found).toBe(all.filter((rating) => rating.user === user).length)

  // The retention of the topic removes some records; the archive has others that the topic has, too.
  await using topics = await openTopics({ kafka: { brokers: kafka.bootstrap } })
  const bounds = await topics.bounds('ratings')
  await topics.deleteRecords(
    'ratings',
    bounds.map(({ end }) => Math.floor(end / 2)),
  )
  const retrained = await runVerb([
    ...['retrain', '--once', '--no-serving', '--kind', 'popularity', '--model', 'popularity-model'],
    ...['--observations', 'ratings', '--ratings', place, '--data-dir', folder, '--json'],
    ...brokers,
  ])
  expect(retrained.code, retrained.err).toBe(0)
  expect(retrained.json()).toMatchObject([
    { event: 'candidate', version: { lineage: { metrics: { observations: 3000 } } } },
  ])
})
