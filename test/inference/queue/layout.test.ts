import { describe, expect, it } from 'vitest'
import { ITEM_BUCKETS, TIME_BUCKETS } from '../../../src/inference/queue/buckets.ts'
import {
  LAYOUT_VERSION,
  offsetsOf,
  PRODUCER_COUNT,
  PRODUCER_WORDS,
  SLOT,
  SLOT_TIME,
  SLOT_WORDS,
  WORKER,
  WORKER_NUMBERS,
} from '../../../src/inference/queue/layout.ts'
import { RESPONSE_BUCKETS } from '../../../src/inference/queue/response-times.ts'

/** Numbers that a field of a worker's row takes. */
const WIDTHS: Readonly<Record<string, number>> = {
  dispatched: 5,
  responses: RESPONSE_BUCKETS,
  queueTimes: TIME_BUCKETS.count,
  runTimes: TIME_BUCKETS.count,
  batchSizes: ITEM_BUCKETS.count,
}

describe('the layout of a queue', () => {
  it('of this version has its parts where the drawing has them', () => {
    const shape = { capacity: 64, inputBytes: 16, outputBytes: 8 }
    // Another layout needs another version.
    expect({ version: LAYOUT_VERSION, ...offsetsOf(shape) }).toEqual({
      version: 3,
      bitWords: 2,
      estimates: 256,
      workers: 384,
      producers: 384 + 65_536,
      ready: 384 + 65_536 + 4096,
      done: 70_024,
      order: 70_336,
      slots: 74_432,
      inputs: 82_624,
      outputs: 83_648,
      length: 84_160,
    })
  })

  it('has fields of a row that do not overlap, and end with the row', () => {
    let end = 0
    for (const [name, first] of Object.entries(WORKER)) {
      expect(first, name).toBeGreaterThanOrEqual(end)
      end = first + (WIDTHS[name] ?? 1)
    }
    expect(end).toBeLessThanOrEqual(WORKER_NUMBERS)
  })

  it('has counters and times behind the words of their row', () => {
    const counters = Object.values(PRODUCER_COUNT)
    expect(new Set(counters).size).toBe(counters.length)
    // Bell, armed and dead are the first three words.
    expect(Math.min(...counters)).toBeGreaterThanOrEqual(2)
    expect(Math.max(...counters)).toBeLessThan(PRODUCER_WORDS / 2)
    expect(Math.max(...Object.values(SLOT))).toBeLessThan(Math.min(...Object.values(SLOT_TIME)) * 2)
    expect(Math.max(...Object.values(SLOT_TIME))).toBeLessThan(SLOT_WORDS / 2)
  })
})
