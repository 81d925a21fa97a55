import { describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import {
  presentVersion,
  TrainedPositions,
  trainedRanges,
} from '../../../src/jobs/registry/trained-ranges.ts'
import type { DataRange, RegisteredVersion } from '../../../src/models/registry/version.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'
import { registeredVersion } from '../../models/registry/registered-version.ts'

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

describe('presentVersion', () => {
  it('leaves out ranges of topics that are not here, and says so', async () => {
    await using topics = new LogTopics(temporaryFolder())
    await topics.create('ratings', { partitions: 1 })
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
    await using topics = new LogTopics(temporaryFolder())
    await topics.create('ratings', { partitions: 1 })
    const { topicId: _, ...old } = RANGE
    expect(await presentVersion(topics, trainedOn([old]))).toEqual({
      version: trainedOn([old]),
      note: `version 1 does not say the id of the topic that it was trained on: topic ratings of ${topics.place} is taken for it`,
    })
  })
})
