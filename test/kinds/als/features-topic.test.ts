import { expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { featureLinesOf, hashOfTopic, topicNamed } from '../../../src/kinds/als/features-topic.ts'
import { featureTable } from '../../../src/training/data/feature-table.ts'
import { bytes, openLog, temporaryFolder } from '../../connectors/log/fixture.ts'

type Row = readonly [key: string | null, value: string | null]

/** A topic with these records, one partition after the other in turn. */
async function topicOf(...rows: readonly Row[]) {
  const folder = temporaryFolder()
  const log = await openLog(folder)
  await log.createTopic('films', { partitions: 2 })
  const producer = log.producer('films')
  const send = async (...sent: readonly Row[]): Promise<void> => {
    for (const [key, value] of sent) {
      const partition = key === null ? 0 : key.length % 2
      producer.send(key === null ? null : bytes(key), value === null ? null : bytes(value), 1, {
        partition,
      })
    }
    await producer.sync()
  }
  await send(...rows)
  const open = async () => new LogTopics(folder)
  return { send, open, lines: () => featureLinesOf('films', open) }
}

const json = (id: string, value: unknown): Row => [id, JSON.stringify(value)]

it('features of a topic are its last objects, as lines of a file are', async () => {
  const { lines } = await topicOf(
    json('a', { genre: ['drama', 'war'], year: 1950 }),
    json('bb', { genre: 'war, "old"', year: null }),
    json('c', { year: 1 }),
    json('a', { genre: 'drama', year: 1990, sold: true }),
    ['c', null],
  )
  const found = await lines()
  expect(found[0]).toBe('id,genre,sold,year')
  expect(found.slice(1).sort()).toEqual(['a,drama,true,1990', 'bb,"war, ""old""",,'])
  expect(featureTable(found)).toMatchObject({ ids: expect.arrayContaining(['a', 'bb']) })
})

it('several values of a column are a list', async () => {
  const { lines } = await topicOf(
    json('a', { genre: ['drama', 'war'] }),
    json('bb', { genre: 'war' }),
  )
  expect(featureTable(await lines()).names.toSorted()).toEqual(['genre=drama', 'genre=war'])
})

it('their hash follows what counts', async () => {
  const { send, open } = await topicOf(json('a', { year: 1 }))
  const before = await hashOfTopic('films', open)
  await send(json('a', { year: 2 }), json('a', { year: 1 }))
  expect(await hashOfTopic('films', open)).toBe(before)
  await send(json('a', { year: 3 }))
  expect(await hashOfTopic('films', open)).not.toBe(before)
})

it.each<[string, Row, RegExp]>([
  ['no key', [null, '{}'], /needs the id as its key/],
  ['no JSON', ['a', 'drama'], /JSON/],
  ['a list', ['a', '[1]'], /JSON object of columns/],
  ['an object in a column', ['a', '{"genre":{"a":1}}'], /the column "genre" is an object/],
  ['a name with a tab', ['a', '{"gen\\tre":1}'], /has a tab or a line break/],
])('a record with %s is an error with its position', async (_, row, message) => {
  const { lines } = await topicOf(row)
  const failed = lines()
  await expect(failed).rejects.toThrow(message)
  await expect(failed).rejects.toMatchObject({ code: 'UNPARSABLE_RECORD' })
})

it('a topic that does not exist is named, and a file is no topic', async () => {
  const { open } = await topicOf()
  await expect(featureLinesOf('movies', open)).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' })
  expect([topicNamed('topic:films'), topicNamed('films.csv')]).toEqual(['films', undefined])
})
