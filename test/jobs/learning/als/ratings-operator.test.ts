import { expect, it } from 'vitest'
import { ByteReader } from '../../../../src/core/byte-reader.ts'
import type { ByteSpan } from '../../../../src/core/byte-span.ts'
import { RatingsOperator } from '../../../../src/jobs/learning/als/ratings-operator.ts'
import type { RatingRecord } from '../../../../src/jobs/learning/als/records.ts'
import { InFlightLimit } from '../../../../src/jobs/learning/in-flight-limit.ts'
import { REFUSED } from '../../../../src/jobs/learning/refused.ts'
import type { ModelTopicRecord } from '../../../../src/jobs/model-topic/record.ts'
import { ratingLineFormat } from '../../../../src/models/ratings/line-format.ts'
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

/** Row keys and ratings of the lines that are learned, and the reasons of the others. */
async function taken(lines: readonly string[]) {
  const operator = new RatingsOperator()
  const harness = await OperatorHarness.open<ModelTopicRecord, { kind: string }>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({ kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight })
  return lines.map((line, offset) => {
    const before = harness.values.length
    harness.process(recordOf(line), 5000, { position: { partition: 0, offset } })
    const record = harness.values.slice(before).find(({ kind }) => kind === 'rating')
    if (record === undefined) return harness.sideOutput(REFUSED).at(-1)!.value.reason
    const { key, item, rating } = record as unknown as RatingRecord
    return [textOf(key), textOf(item), rating]
  })
}

const textOf = ({ bytes, start, length }: ByteSpan): string =>
  new TextDecoder().decode(bytes.subarray(start, start + length))

it('takes the ratings that every reader of the topic takes, and refuses the same lines', async () => {
  const ids = ['7', ' 7 ', '"7"', '"a,b"', 'a"b', '', 'MEAN', 'é', '\u00a07', 'x'.repeat(63)]
  const ratings = ['5', '4.5', '12', ' 4.5 ', '"3"', '-1e-3', '.5', '0x3', 'x', '', '1e30']
  const rests = ['', ',', ',874965758', ', 8 ', ',2015-03-09', ',soon', ',8,9', '\n', '\n1,2,3']
  const lines = ids.flatMap((id) =>
    ratings.flatMap((rating) =>
      rests.flatMap((rest) => [`${id},i,${rating}${rest}`, `u,${id},${rating}${rest}`]),
    ),
  )
  const format = ratingLineFormat()
  const expected = lines.map((line) => {
    try {
      const { user, item, rating } = format.read(new ByteReader(new TextEncoder().encode(line)))
      const keys = [`${user}-U`, `${item}-I`]
      return keys.some(({ length }) => length > 64) ? 'key-too-long' : [...keys, rating]
    } catch (error) {
      return String(error).includes('MEAN') ? 'reserved-id' : 'unparsable'
    }
  })
  const found = await taken(lines)
  for (const [i, line] of lines.entries()) expect(found[i], line).toEqual(expected[i])
  expect(new Set(found.filter((each) => typeof each === 'string')).size).toBe(3)
})
