import { describe, expect, it } from 'vitest'
import type { TimedOperation, Windowed } from '../../../verify/scale-out/job.ts'
import { judgeResults } from '../../../verify/scale-out/oracle.ts'
import type { Folded } from '../../recovery/fold/job.ts'

const INPUT: readonly TimedOperation[] = [
  { key: 'a', amount: 5, time: 10_100 },
  { key: 'b', amount: 7, time: 10_200 },
  { key: 'a', amount: 9, time: 10_999 },
  { key: 'a', amount: 1, time: 11_000 },
  { key: 'b', amount: 1, time: 90_000 },
]
// hash = hash * 31 + amount, from 7.
const RESULTS: readonly Folded[] = [
  { key: 'a', count: 1, hash: 222 },
  { key: 'b', count: 1, hash: 224 },
  { key: 'a', count: 2, hash: 6_891 },
  { key: 'a', count: 3, hash: 213_622 },
  { key: 'b', count: 2, hash: 6_945 },
]
const WINDOWS: readonly Windowed[] = [
  { key: 'a', start: 10_000, count: 2, sum: 14 },
  { key: 'b', start: 10_000, count: 1, sum: 7 },
  { key: 'a', start: 11_000, count: 1, sum: 1 },
]

const judged = (results: readonly Folded[], windows: readonly Windowed[] = WINDOWS) =>
  judgeResults({ input: INPUT, results, windows }, 90_000)

describe('the verdict on results of a job in many processes', () => {
  it('finds nothing where each result of the input is there once', () => {
    expect(judged(RESULTS)).toEqual({ lost: 0, doubled: 0, wrong: 0, details: [] })
    expect(judged(RESULTS.toReversed(), WINDOWS.toReversed())).toMatchObject({ details: [] })
  })

  it('finds a result that is missing', () => {
    expect(judged(RESULTS.slice(1))).toMatchObject({
      ...{ lost: 1, doubled: 0, wrong: 0 },
      details: ['fold a 1 is missing'],
    })
  })

  it('finds a result that is there twice', () => {
    expect(judged([...RESULTS, RESULTS[2]!])).toMatchObject({
      ...{ lost: 0, doubled: 1, wrong: 0 },
      details: ['fold a 2 is there again, as 6891'],
    })
  })

  it('finds a result of records in another order, and one that no input makes', () => {
    const swapped = { key: 'a', count: 2, hash: 6_892 }
    const extra = { key: 'c', count: 1, hash: 222 }
    const results = RESULTS.map((one) => (one === RESULTS[2] ? swapped : one))
    expect(judged([...results, extra])).toMatchObject({
      ...{ lost: 0, doubled: 0, wrong: 2 },
      details: ['fold a 2 is 6892, not 6891', 'fold c 1 is 222, not there at all by the input'],
    })
  })

  it('finds a window that lacks a record, fired twice, or is missing', () => {
    const less = { ...WINDOWS[0]!, count: 1, sum: 5 }
    expect(judged(RESULTS, [less, WINDOWS[1]!, WINDOWS[1]!])).toMatchObject({
      lost: 1,
      doubled: 1,
      wrong: 1,
    })
  })

  it('finds a window that has fired before its end', () => {
    const early = { key: 'b', start: 90_000, count: 1, sum: 1 }
    expect(judged(RESULTS, [...WINDOWS, early])).toMatchObject({ lost: 0, doubled: 0, wrong: 1 })
  })
})
