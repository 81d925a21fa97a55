import { describe, expect, it } from 'vitest'
import { keyGroupRangeOf } from '../../../src/core/key-group.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../../src/core/time.ts'
import {
  type RestoredWatermark,
  restoredWatermark,
  STORED_WATERMARKS,
  watermarkEntries,
} from '../../../src/operators/port/stored-watermark.ts'
import { OperatorStateMemory } from '../../../src/runtime/subtask/operator-state-memory.ts'

const MAX_PARALLELISM = 128

/** What a subtask restores of subtasks with these watermarks. */
function restored(
  watermarks: readonly number[],
  subtask: number,
  parallelism: number,
): RestoredWatermark {
  const entries = watermarks.flatMap((watermark, old) =>
    watermarkEntries(keyGroupRangeOf(old, watermarks.length, MAX_PARALLELISM), watermark),
  )
  const operatorState = new OperatorStateMemory(new Map([[STORED_WATERMARKS, entries]]))
  return restoredWatermark({
    subtask,
    parallelism,
    maxParallelism: MAX_PARALLELISM,
    operatorState,
  })
}

describe('the watermark of a restored subtask', () => {
  it('is that of the subtasks whose keys it gets: the lowest, and the highest for timers', () => {
    expect(restored([10, 20], 0, 2)).toEqual({ watermark: 10, firedUpTo: 10 })
    expect(restored([10, 20], 1, 2)).toEqual({ watermark: 20, firedUpTo: 20 })
    expect(restored([10, 20], 0, 1)).toEqual({ watermark: 10, firedUpTo: 20 })
    expect(restored([10, 20, 30, 5], 0, 2)).toEqual({ watermark: 10, firedUpTo: 20 })
    expect(restored([-7], 2, 3)).toEqual({ watermark: -7, firedUpTo: -7 })
  })

  it('is unknown where a subtask had none, and in checkpoints of former releases', () => {
    const unknown = { watermark: MIN_TIMESTAMP, firedUpTo: MAX_TIMESTAMP }
    expect(restored([10, MIN_TIMESTAMP], 0, 1)).toEqual(unknown)
    expect(restored([10, MIN_TIMESTAMP], 0, 2)).toEqual({ watermark: 10, firedUpTo: 10 })
    expect(restored([], 0, 1)).toEqual(unknown)
  })

  it('begins again after the end of all inputs', () => {
    expect(restored([MAX_TIMESTAMP], 0, 1)).toEqual({
      watermark: MIN_TIMESTAMP,
      firedUpTo: MAX_TIMESTAMP,
    })
  })

  it('is none on a fresh start', () => {
    const fresh = new OperatorStateMemory()
    expect(
      restoredWatermark({ subtask: 0, parallelism: 1, maxParallelism: 128, operatorState: fresh }),
    ).toEqual({ watermark: MIN_TIMESTAMP, firedUpTo: MIN_TIMESTAMP })
  })

  it('has these bytes', () => {
    const [entry] = watermarkEntries({ first: 64, last: 127 }, 1_000)
    expect(Buffer.from(entry!).toString('hex')).toBe('407fe803000000000000')
  })
})
