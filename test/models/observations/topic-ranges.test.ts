import { describe, expect, it } from 'vitest'
import { newestOf, offsetsIn } from '../../../src/models/observations/topic-ranges.ts'

const ranges = [
  { topic: 'ratings', partition: 0, from: 100, to: 1100 },
  { topic: 'ratings', partition: 1, from: 0, to: 3000 },
]

describe('the newest of some ranges', () => {
  it('are the ends of each partition, in proportion', () => {
    expect(newestOf(ranges, 400)).toEqual([
      { topic: 'ratings', partition: 0, from: 1000, to: 1100 },
      { topic: 'ratings', partition: 1, from: 2700, to: 3000 },
    ])
  })

  it('are all offsets if there are no more', () => {
    expect(newestOf(ranges, 4000)).toEqual(ranges)
    expect(offsetsIn(newestOf(ranges, 5000))).toBe(4000)
  })

  it('include every partition, so that none is replayed from its start', () => {
    expect(newestOf(ranges, 1).map(({ partition }) => partition)).toEqual([0, 1])
  })
})
