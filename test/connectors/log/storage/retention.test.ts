import { describe, expect, it } from 'vitest'
import { expiredSegments, SegmentEnd } from '../../../../src/connectors/log/storage/retention.ts'

describe('expired segments', () => {
  it('are counted by age and by size, up to an open transaction', () => {
    const segment = (maxTimestamp: number, undecided = false) => ({
      size: 100,
      maxTimestamp,
      undecided,
    })
    const closed = [segment(10), segment(20), segment(30)]
    const byAge = { retentionBytes: -1, retentionMs: 75 }
    expect(expiredSegments({ closed, activeSize: 50 }, byAge, 100)).toBe(2)
    expect(
      expiredSegments({ closed: [segment(10), segment(20, true)], activeSize: 50 }, byAge, 100),
    ).toBe(1)
    expect(
      expiredSegments({ closed, activeSize: 50 }, { retentionBytes: 150, retentionMs: -1 }, 100),
    ).toBe(2)
    expect(
      expiredSegments({ closed, activeSize: 50 }, { retentionBytes: -1, retentionMs: -1 }, 100),
    ).toBe(0)
  })
})

describe('the end of a segment', () => {
  const kept = { segmentBytes: 1_000_000, retentionBytes: -1, retentionMs: -1 }

  it('comes at its size', () => {
    const end = new SegmentEnd(kept)
    expect(end.isBefore(2_000_000, { base: 0, size: 0 })).toBe(false)
    expect(end.isBefore(600_000, { base: 0, size: 400_000 })).toBe(false)
    expect(end.isBefore(600_001, { base: 0, size: 400_000 })).toBe(true)
  })

  it('comes at a quarter of the bytes that are kept, but not below 16 KiB', () => {
    expect(new SegmentEnd({ ...kept, retentionBytes: 800_000 }).bytes).toBe(200_000)
    expect(new SegmentEnd({ ...kept, retentionBytes: 800 }).bytes).toBe(16_384)
    expect(new SegmentEnd({ ...kept, retentionBytes: 8_000_000 }).bytes).toBe(1_000_000)
  })

  it('comes at a quarter of the time that records are kept', () => {
    const end = new SegmentEnd({ ...kept, retentionMs: 400 })
    end.checkAge({ base: 0, size: 0 }, 0)
    end.checkAge({ base: 0, size: 10 }, 1_000)
    end.checkAge({ base: 0, size: 20 }, 1_099)
    expect(end.isBefore(10, { base: 0, size: 20 })).toBe(false)
    end.checkAge({ base: 0, size: 20 }, 1_100)
    expect(end.isBefore(10, { base: 0, size: 20 })).toBe(true)
    // The next segment is new.
    expect(end.isBefore(10, { base: 5, size: 10 })).toBe(false)
  })
})
