import { describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { readRanges } from '../../../src/models/observations/compared-records.ts'
import type { DataRange } from '../../../src/models/registry/ranges/data-range.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'
import {
  presentVersion,
  TrainedPositions,
  trainedRanges,
} from '../../../src/models/versions/trained-ranges.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'
import { registeredVersion } from '../registry/registered-version.ts'

const RANGE: DataRange = { topic: 'ratings', topicId: 'a', partition: 0, from: 0, to: 100 }

function trainedOn(
  ranges: readonly DataRange[],
  replayed: readonly DataRange[] = [],
): RegisteredVersion {
  const version = registeredVersion(1)
  return { ...version, lineage: { ...version.lineage, ranges, replayed } }
}

describe('the ranges that a version was trained on', () => {
  it('are those of one topic with what was replayed after them', () => {
    const after = { ...RANGE, from: 100, to: 120 }
    const other = { ...RANGE, topicId: 'b', from: 500, to: 600 }
    const version = trainedOn([RANGE, other], [after])
    expect(trainedRanges(version)).toEqual([{ ...RANGE, to: 120 }])
    expect(trainedRanges(trainedOn([]))).toEqual([])
  })

  it('have no positions of another topic', () => {
    const position = { partition: 0, offset: 50 }
    const version = trainedOn([RANGE])
    expect(new TrainedPositions(version, [RANGE]).has(position)).toBe(true)
    expect(new TrainedPositions(version, [{ ...RANGE, topicId: 'b' }]).has(position)).toBe(false)
    expect(
      new TrainedPositions(version, [{ ...RANGE, topic: 'x', topicId: 'b' }]).has(position),
    ).toBe(false)
    expect(new TrainedPositions(undefined, [RANGE]).has(position)).toBe(false)
  })
})

/** A log whose topic of ratings has as many records as the range. */
async function logWithRatings(): Promise<LogTopics> {
  const topics = new LogTopics(temporaryFolder())
  await topics.create('ratings', { partitions: 1, segmentBytes: 500 })
  await produceRatings(topics, RANGE.to, 3)
  return topics
}

async function produceRatings(topics: LogTopics, count: number, rating: number): Promise<void> {
  const producer = await topics.producer('ratings')
  for (let n = 0; n < count; n++) {
    producer.sendRecord(null, Buffer.from(`u${n},i,${rating}`), 1, 0, [])
    // A batch of its own: a segment ends behind a batch.
    if (n % 20 === 0) await producer.sync()
  }
  await producer.sync()
  await producer.close()
}

describe('presentVersion', () => {
  it('leaves out ranges of topics that are not here, and says so', async () => {
    await using topics = await logWithRatings()
    const { id } = await topics.identity('ratings')
    const here = { ...RANGE, topicId: id }
    expect(await presentVersion(topics, trainedOn([here], [here]))).toEqual({
      version: trainedOn([here], [here]),
      note: undefined,
    })
    const elsewhere = `version 1 was not trained on topic ratings of ${topics.place}, so its training data is not looked at`
    expect(await presentVersion(topics, trainedOn([RANGE], [RANGE]))).toEqual({
      version: trainedOn([], []),
      note: elsewhere,
    })
    const gone = await presentVersion(topics, trainedOn([{ ...RANGE, topic: 'gone' }]))
    expect(gone).toEqual({
      version: trainedOn([]),
      note: elsewhere.replace('topic ratings', 'topic gone'),
    })
  })

  it('keeps ranges of an earlier build, and says what is assumed', async () => {
    await using topics = await logWithRatings()
    const { topicId: _, ...old } = RANGE
    expect(await presentVersion(topics, trainedOn([old]))).toEqual({
      version: trainedOn([old]),
      note: `version 1 does not say the id of the topic that it was trained on: topic ratings of ${topics.place} is taken for it`,
    })
  })
  it('leaves out ranges whose records are others by now, and says what differs', async () => {
    await using topics = await logWithRatings()
    const { id } = await topics.identity('ratings')
    const [read] = await readRanges(topics, [{ ...RANGE, topicId: id }], { kind: 'ratings' })
    expect(await presentVersion(topics, trainedOn([read!]))).toEqual({
      version: trainedOn([read!]),
      note: undefined,
    })
    const log = temporaryFolder()
    await using copy = new LogTopics(log)
    await copy.create('ratings', { partitions: 1 })
    await produceRatings(copy, RANGE.to, 4)
    const there = { ...read!, topicId: (await copy.identity('ratings')).id }
    const rewritten = await presentVersion(copy, trainedOn([there]))
    expect(rewritten.version).toEqual(trainedOn([]))
    expect(rewritten.note).toMatch(
      /^version 1 was trained on other records than topic ratings of .* has now \(the training read 100 ratings with digest [0-9a-f]{16} at offsets 0 to 100 of ratings\/0, which has 100 with [0-9a-f]{16} there now\), so its training data is not looked at$/,
    )
    // A version of which nothing is read is not compared.
    expect((await presentVersion(copy, trainedOn([there]), false)).note).toBeUndefined()
  })

  it('compares the whole range, not only its end, which another history may share', async () => {
    await using topics = await logWithRatings()
    const { id } = await topics.identity('ratings')
    const [one] = await readRanges(topics, [{ ...RANGE, topicId: id }], { kind: 'ratings' })
    const { all, last } = one!.read!
    const earlier = { ...one!, read: { all: { ...all, sum: '0123456789abcdef' }, last } }
    const found = await presentVersion(topics, trainedOn([earlier]))
    expect(found.version).toEqual(trainedOn([]))
    expect(found.note).toContain('was trained on other records than topic ratings')
  })

  it('says that records that the topic has removed cannot be compared', async () => {
    await using topics = await logWithRatings()
    const { id } = await topics.identity('ratings')
    const read = await readRanges(topics, [{ ...RANGE, topicId: id }], { kind: 'ratings' })
    await topics.deleteRecords('ratings', [60])
    expect((await topics.bounds('ratings'))[0]!.start).toBeGreaterThan(0)
    const found = await presentVersion(topics, trainedOn(read))
    expect(found.version).toEqual(trainedOn([]))
    expect(found.note).toContain('has removed records that version 1 was trained on')
  })
})
