import { expect, it } from 'vitest'
import type { Clock } from '../../../src/core/clock.ts'
import { ReadBounds } from '../../../src/serving/reader/bounds.ts'
import { ProgressBoard } from '../../../src/state/catalog/progress-board.ts'
import { StateCatalog } from '../../../src/state/catalog/state-catalog.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { atLeast } from '../../../src/wire/model-reader.ts'

const sources = [
  { uid: 'model', tracked: true },
  { uid: 'ratings', tracked: true, returnsThrough: 2 },
  { uid: 'deltas', tracked: true },
  { uid: 'examples', tracked: false },
  { uid: 'windows', tracked: true, returnsThrough: 'checkpoints' },
] as const

const board = ProgressBoard.create(2, 4, sources)
const clock = new ManualClock(1000)
const bounds = new ReadBounds(board, new StateCatalog(), clock)

const codeOf = (source: number, partition: number): unknown => {
  try {
    return bounds.require(atLeast({ source, partition, offset: 5 }))
  } catch (error) {
    return (error as { code: string }).code
  }
}

it('positions that can never be reached are refused, so that no request waits for one', () => {
  expect([codeOf(0, -1), codeOf(5, 0)]).toEqual(['INVALID_ARGUMENT', 'INVALID_ARGUMENT'])
  expect([codeOf(0, 4), codeOf(3, 0), codeOf(4, 0)]).toEqual(Array(3).fill('UNSUPPORTED'))
  expect([codeOf(0, 3), codeOf(1, 0)]).toEqual([undefined, undefined])
})

it('a partition that no source has is refused at once, but not before all of them are found', () => {
  const started = ProgressBoard.create(1, 100, [{ uid: 'ratings', tracked: true }])
  const startedBounds = new ReadBounds(started, new StateCatalog(), clock)
  const require = (partition: number) => () =>
    startedBounds.require(atLeast({ partition, offset: 0 }))
  expect(require(77)).not.toThrow()
  for (const partition of [0, 1]) started.addPartition(partition, 0)
  expect(require(77)).not.toThrow()
  started.setSlotStatus(0, 'running')
  expect(require(1)).not.toThrow()
  expect(require(77)).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message:
        'at-least names partition 77 of source "ratings", which has partitions 0 to 1; use the position of an answer',
    }),
  )
  started.addPartition(2, 0)
  expect(require(2)).not.toThrow()
})

it('a position counts for its own source and for the version that is read only', () => {
  board.setProgress(0, 0, 100, 1, 0)
  board.setProgress(0, 0, 6, 1, 2, 3)
  const position = atLeast({ source: 2, partition: 0, offset: 5 })
  expect(bounds.hasReached(0, position, 3)).toBe(true)
  expect(bounds.hasReached(0, position, 4)).toBe(false)
  expect(bounds.hasReached(0, atLeast({ source: 2, partition: 0, offset: 6 }), 3)).toBe(false)
  expect(bounds.hasReached(0, atLeast({ partition: 0, offset: 99 }), 4)).toBe(true)
})

it('effects that return through another source are waited for until every slot has written them', () => {
  const consistency = atLeast({ source: 1, partition: 0, offset: 5 })
  const request = { consistency, version: 3, deadline: 10_000, owner: undefined }
  for (const slot of [0, 1]) {
    board.setReported(slot)
    board.setProgress(slot, 0, 6, 1, 1, 3)
  }
  board.setWritten(0, 0, 6, 1, 3)
  expect(bounds.isReached(0, request)).toBe(false)
  expect(bounds.hasReached(0, consistency, 3)).toBe(false)
  board.setWritten(1, 0, 6, 1, 3)
  expect(bounds.isReached(0, request)).toBe(true)
  const returned = { source: 2, asOfMs: 50 }
  expect(bounds.isReached(0, { ...request, returned })).toBe(false)
  board.setProgress(0, 0, 7, 50, 2, 3)
  expect(bounds.isReached(0, { ...request, returned })).toBe(true)
})

it.each([3_600_000, -3_600_000])('a jump of the wall clock by %d ms changes no age', (jumpMs) => {
  const steady = new ManualClock(5_000_000)
  let shiftMs = 0
  const jumping: Clock = {
    nowMs: () => steady.nowMs() + shiftMs,
    monotonicMs: () => steady.monotonicMs(),
    after: (delayMs, callback) => steady.after(delayMs, callback),
  }
  const ages = ProgressBoard.create(1, 1, [{ uid: 'source', tracked: true }])
  const ageBounds = new ReadBounds(ages, new StateCatalog(), jumping)
  const isYoungerThan = (maxAgeMs: number) =>
    ageBounds.hasReached(0, { level: 'bounded', maxAgeMs }, 0)
  steady.advance(1000)
  ages.setReported(0)
  ages.setProgress(0, 0, 1, steady.monotonicMs(), 0)
  steady.advance(100)
  shiftMs = jumpMs
  expect([isYoungerThan(100), isYoungerThan(99)]).toEqual([true, false])
})
