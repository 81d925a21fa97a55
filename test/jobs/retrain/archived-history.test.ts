import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openLineFolder } from '../../../src/connectors/file/open-folder.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import type { PartitionBounds, TopicStore } from '../../../src/connectors/topics/store.ts'
import { archivedHistory } from '../../../src/jobs/retrain/archived-history.ts'
import { retrain } from '../../../src/jobs/retrain/retrain.ts'
import { archiveDigest, partName } from '../../../src/models/observations/archive-parts.ts'
import { historyRatings } from '../../../src/models/observations/history.ts'
import { TopicArchive } from '../../../src/models/observations/topic-archive.ts'
import { feedBetween, retrainOptions, trainerHere } from './fixture.ts'

let folder: string
const archive = (): string => join(folder, 'archive')

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-archived-'))
  mkdirSync(archive())
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A part of partition 0 with a rating for each offset. */
function part(from: number, to: number, topic = archiveDigest('id')): void {
  const lines = Array.from({ length: to - from }, (_, n) => `u${from + n},i,3\n`)
  writeFileSync(join(archive(), partName({ partition: 0, from, to, topic })), lines.join(''))
}

/** What the archive says of a topic that has these offsets. */
async function archivedOf(...bounds: readonly PartitionBounds[]) {
  const topics = {
    bounds: async () => bounds,
    identity: async () => ({ id: 'id' }),
  } as unknown as TopicStore
  const archived = await archivedHistory(topics, 'ratings', { places: [archive()] })
  const ranges = bounds.map(({ partition, start, end }) => {
    return { topic: 'ratings', partition, from: start, to: end }
  })
  const users: string[] = []
  for await (const piece of historyRatings(archived.history!)) {
    users.push(...piece.map(({ user }) => user))
  }
  return { users, starts: archived.bounds.map(({ start }) => start), after: archived.after(ranges) }
}

const offsets = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, n) => `u${from + n}`)

describe('an archive of the observations in a history', () => {
  it('is read where the topic has no records, and the topic where it has', async () => {
    part(0, 10)
    part(10, 20)
    part(20, 30)
    const { users, after, starts } = await archivedOf({ partition: 0, start: 20, end: 40 })
    expect(users).toEqual(offsets(0, 20))
    expect(after).toMatchObject([{ from: 20, to: 40 }])
    expect(starts).toEqual([0])
  })

  it('is read to the end of a part that begins before the topic does', async () => {
    part(0, 10)
    part(10, 20)
    const { users, after } = await archivedOf({ partition: 0, start: 15, end: 40 })
    expect(users).toEqual(offsets(0, 20))
    expect(after).toMatchObject([{ from: 20, to: 40 }])
  })

  it('keeps a range that is all in such a part, as its end says what was read', async () => {
    part(0, 20)
    const { after } = await archivedOf({ partition: 0, start: 15, end: 20 })
    expect(after).toMatchObject([{ from: 15, to: 20 }])
  })

  it('reaches back as far as its parts join', async () => {
    part(0, 5)
    part(10, 20)
    part(20, 30)
    const { starts } = await archivedOf(
      { partition: 0, start: 25, end: 40 },
      { partition: 1, start: 7, end: 40 },
    )
    expect(starts).toEqual([10, 7])
  })

  it('of another topic, also of one of the same name, is a history as any', async () => {
    part(0, 10, archiveDigest('another'))
    const { users, after, starts } = await archivedOf({ partition: 0, start: 5, end: 40 })
    expect(users).toEqual(offsets(0, 10))
    expect(after).toMatchObject([{ from: 5 }])
    expect(starts).toEqual([5])
  })

  it('is trained on once beside the topic, and changes no inputs while it grows', async () => {
    await using topics = new LogTopics(join(folder, 'log'))
    await feedBetween(topics, 0, 120)
    const archiving = new TopicArchive({
      ...{ topics, topic: 'ratings', format: 'ratings' },
      folder: openLineFolder(archive()),
      mostOffsets: 30,
    })
    await archiving.round()
    const options = { ...retrainOptions(folder, trainerHere), history: { places: [archive()] } }
    expect(await retrain(options)).toMatchObject({
      kind: 'candidate',
      version: { lineage: { metrics: { observations: 120 } } },
    })
    expect(await retrain(options)).toMatchObject({ kind: 'exists' })
    await feedBetween(topics, 120, 150)
    await archiving.round()
    expect(await retrain(options)).toMatchObject({
      kind: 'candidate',
      version: { number: 2, lineage: { metrics: { observations: 150 } } },
    })
  })
})
