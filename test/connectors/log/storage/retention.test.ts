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

  const write = (bytes: number, timestamp = -1) => ({ bytes, timestamp })
  const active = (base: number, size: number, firstTimestamp = -1) => ({
    base,
    size,
    firstTimestamp,
  })

  it('comes at its size', () => {
    const end = new SegmentEnd(kept)
    expect(end.isBefore(write(2_000_000), active(0, 0))).toBe(false)
    expect(end.isBefore(write(600_000), active(0, 400_000))).toBe(false)
    expect(end.isBefore(write(600_001), active(0, 400_000))).toBe(true)
  })

  it('comes at a quarter of the bytes that are kept, but not below 16 KiB', () => {
    expect(new SegmentEnd({ ...kept, retentionBytes: 800_000 }).bytes).toBe(200_000)
    expect(new SegmentEnd({ ...kept, retentionBytes: 800 }).bytes).toBe(16_384)
    expect(new SegmentEnd({ ...kept, retentionBytes: 8_000_000 }).bytes).toBe(1_000_000)
  })

  it('comes at a quarter of the time that records are kept, from when records without a time were seen', () => {
    const end = new SegmentEnd({ ...kept, retentionMs: 400 })
    end.checkAge(active(0, 0), 0)
    end.checkAge(active(0, 10), 1_000)
    end.checkAge(active(0, 20), 1_099)
    expect(end.isBefore(write(10), active(0, 20))).toBe(false)
    end.checkAge(active(0, 20), 1_100)
    expect(end.isBefore(write(10), active(0, 20))).toBe(true)
    // The next segment is new.
    expect(end.isBefore(write(10), active(5, 10))).toBe(false)
  })

  it('counts the age from the time of the first record, whichever process saw it first', () => {
    const end = new SegmentEnd({ ...kept, retentionMs: 400 })
    end.checkAge(active(0, 10, 950), 1_000)
    expect(end.isBefore(write(10, 1_000), active(0, 10, 950))).toBe(false)
    end.checkAge(active(0, 10, 950), 1_050)
    expect(end.isBefore(write(10, 1_000), active(0, 10, 950))).toBe(true)
  })

  it('comes where the times of records go on by a quarter, not at each record of the past or of the future', () => {
    const end = new SegmentEnd({ ...kept, retentionMs: 400 })
    expect(end.isBefore(write(10, 149), active(0, 10, 50))).toBe(false)
    expect(end.isBefore(write(10, 150), active(0, 10, 50))).toBe(true)
    expect(end.isBefore(write(10), active(0, 10, 50))).toBe(false)
    end.checkAge(active(0, 10, 9_000), 1_000)
    end.checkAge(active(0, 10, 9_000), 1_099)
    expect(end.isBefore(write(10, 9_000), active(0, 10, 9_000))).toBe(false)
  })

  it('never comes by age where records are kept forever', () => {
    const end = new SegmentEnd(kept)
    end.checkAge(active(0, 10, 1), 1e12)
    expect(end.isBefore(write(10, 1e12), active(0, 10, 1))).toBe(false)
  })
})
