import { expect, it } from 'vitest'
import { RatingsOperator } from '../../../../src/jobs/learning/als/ratings-operator.ts'
import { InFlightLimit } from '../../../../src/jobs/learning/in-flight-limit.ts'
import type { ModelTopicRecord } from '../../../../src/jobs/model-topic/record.ts'
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
