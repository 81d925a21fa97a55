import { expect, it } from 'vitest'
import { RatingsOperator } from '../../../../src/jobs/learning/als/ratings-operator.ts'
import type { SwitchRecord } from '../../../../src/jobs/learning/als/records.ts'
import { InFlightLimit } from '../../../../src/jobs/learning/in-flight-limit.ts'
import { REFUSED } from '../../../../src/jobs/learning/refused.ts'
import type { ModelTopicRecord } from '../../../../src/models/topic/record.ts'
import { OperatorHarness } from '../../../../src/testing/operator-harness.ts'

const recordOf = (line: string): ModelTopicRecord => {
  const bytes = new TextEncoder().encode(line)
  return { bytes, keyStart: 0, keyLength: -1, valueStart: 0, valueLength: bytes.length }
}

/** Times of the ratings of some lines, whose records are all of 5,000 ms. */
async function timesOf(lines: readonly string[], readsTime?: boolean): Promise<number[]> {
  const operator = new RatingsOperator(undefined, undefined, readsTime)
  const harness = await OperatorHarness.open<ModelTopicRecord, { kind: string }>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  const order = { kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight }
  operator.handleEvent(order)
  return lines.map((line, offset) => {
    harness.process(recordOf(line), 5000, { position: { partition: 0, offset } })
    return harness.outputs.at(-1)!.timestamp
  })
}

const LINES = ['u,i,3,100', 'u,i,4,101', 'u,i,5']

it('ratings have the time of their text for the limit of ratings in a second', async () => {
  expect(await timesOf(LINES, true)).toEqual([100_000, 101_000, 5000])
})

it('ratings have the time of their records without the limit', async () => {
  expect(await timesOf(LINES)).toEqual([5000, 5000, 5000])
})

it('say how old the newest rating is, by the time of its text, or of its record without one', async () => {
  const operator = new RatingsOperator()
  const harness = await OperatorHarness.open<ModelTopicRecord, { kind: string }>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({ kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight })
  const freshness = (): number | undefined => harness.metrics.snapshot()['freshnessMs']
  expect(freshness()).toBeNaN()
  const lines = ['u,i,3,100', 'u,i,4,90', 'no rating', 'u,i,5']
  const newest = lines.map((line, offset) => {
    harness.process(recordOf(line), 200_000, { position: { partition: 0, offset } })
    return harness.clock.nowMs() - freshness()!
  })
  // The third is refused; the last one has the time of its record.
  expect(newest).toEqual([100_000, 100_000, 100_000, 200_000])
})

it('ratings of a user or an item with the id of the mean rows are refused, and the next ones are learned', async () => {
  const operator = new RatingsOperator()
  const harness = await OperatorHarness.open<ModelTopicRecord, { kind: string }>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({ kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight })
  for (const [offset, line] of ['MEAN,i,3', 'u,MEAN,3', 'mean,i,3', 'u,MEANS,3'].entries()) {
    harness.process(recordOf(line), 5000, { position: { partition: 0, offset } })
  }
  const refused = harness.sideOutput(REFUSED).map(({ value }) => {
    const { reason, offset } = value
    return { line: new TextDecoder().decode(value.value), reason, offset }
  })
  expect(refused).toEqual([
    { line: 'MEAN,i,3', reason: 'reserved-id', offset: 0 },
    { line: 'u,MEAN,3', reason: 'reserved-id', offset: 1 },
  ])
  expect(harness.values.filter(({ kind }) => kind === 'rating')).toHaveLength(2)
})

it('refuses an id that is longer than a row key may be, in whatever way the line is read', async () => {
  const operator = new RatingsOperator()
  const harness = await OperatorHarness.open<ModelTopicRecord, { kind: string }>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({ kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight })
  const [most, long] = ['x'.repeat(62), 'x'.repeat(63)]
  const lines = [`${most},i,3`, `${long},i,3`, `u,${long},3`, `u,"${long}",3`, `u,"${most}",3`]
  for (const [offset, line] of lines.entries()) {
    harness.process(recordOf(line), 5000, { position: { partition: 0, offset } })
  }
  const refused = harness.sideOutput(REFUSED).map(({ value }) => [value.offset, value.reason])
  expect(refused).toEqual([1, 2, 3].map((offset) => [offset, 'key-too-long']))
})

it('a phase of learning begins with a switch in each partition, before its first rating', async () => {
  const operator = new RatingsOperator()
  const harness = await OperatorHarness.open<ModelTopicRecord, SwitchRecord>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  const sent = (phases: readonly (readonly [number, number])[], partition: number): unknown[] => {
    operator.handleEvent({
      ...{ kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight },
      phases,
    })
    harness.process(recordOf('u,i,3'), 0, { position: { partition, offset: 0 } })
    const records = harness.take().map(({ kind, phase }) => (kind === 'switch' ? phase : kind))
    return [...new Set(records)]
  }
  expect(sent([], 0)).toEqual([0, 'rating'])
  expect(sent([[1, 1]], 0)).toEqual([1, 'rating'])
  // The same phase again, as after a version that went live meanwhile; another partition.
  expect(sent([[1, 1]], 0)).toEqual(['rating'])
  expect(sent([[1, 1]], 1)).toEqual([1, 'rating'])
  expect(sent([[1, 2]], 1)).toEqual([2, 'rating'])
})

it('a rating that a producer sent again is counted, and not passed on', async () => {
  const operator = new RatingsOperator(undefined, undefined, false, { eventId: 'line' })
  const harness = await OperatorHarness.open<ModelTopicRecord, { kind: string }>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({ kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight })
  const send = (lines: readonly string[], from: number): number => {
    for (const [n, line] of lines.entries()) {
      harness.process(recordOf(line), 0, { position: { partition: 0, offset: from + n } })
    }
    return harness.take().filter(({ kind }) => kind === 'rating').length
  }
  expect(send(['u,i,3,100', 'u,i,3,100', 'u,i,3,101'], 0)).toBe(2)
  expect(new InFlightLimit(inFlight).count).toBe(2)
  expect(harness.metrics.snapshot()).toMatchObject({ observationsRepeated: 1, ratingsRefused: 0 })
  // Read again, as after a failure.
  expect(send(['u,i,3,100', 'u,i,3,100', 'u,i,3,101'], 0)).toBe(2)
})

it('a record that forgets a user, with a key and no value, is neither learned nor refused', async () => {
  const operator = new RatingsOperator()
  const harness = await OperatorHarness.open<ModelTopicRecord, { kind: string }>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({ kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight })
  const process = (record: ModelTopicRecord, offset: number) =>
    harness.process(record, 5000, { position: { partition: 0, offset } })
  process({ ...recordOf('u'), keyLength: 1, valueLength: -1 }, 0)
  expect(harness.outputs).toEqual([])
  expect(harness.sideOutput(REFUSED)).toEqual([])
  // Without a key it says nothing, and is refused as before.
  process({ ...recordOf('u'), valueLength: -1 }, 1)
  expect(harness.sideOutput(REFUSED)).toHaveLength(1)
})

it('a record that forgets a user lets go of the lines of this user that were seen, not of others', async () => {
  const operator = new RatingsOperator(undefined, undefined, false, { eventId: 'line' })
  const harness = await OperatorHarness.open<ModelTopicRecord, { kind: string }>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({ kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight })
  let offset = 0
  const process = (record: ModelTopicRecord) =>
    harness.process(record, 5000, { position: { partition: 0, offset: offset++ } })
  const ratings = () => harness.values.filter(({ kind }) => kind === 'rating').length
  for (const line of ['u,i,3', 'v,i,3', '"u",j,4']) process(recordOf(line))
  process({ ...recordOf('u'), keyLength: 1, valueLength: -1 })
  for (const line of ['u,i,3', 'v,i,3', '"u",j,4']) process(recordOf(line))
  expect(ratings()).toBe(5)
})
