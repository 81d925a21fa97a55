import { expect, test } from 'vitest'
import { MAX_MODELS, ProgressBoard } from '../../../src/state/catalog/progress-board.ts'

test('a fresh board is empty: slots down, no live version, no checkpoint', () => {
  const board = ProgressBoard.create(2, 3)
  expect(board.slotStatus(1)).toBe('down')
  expect(board.liveVersion(MAX_MODELS - 1)).toBe(0)
  expect(board.completedCheckpoint()).toBe(0)
  expect(board.oldestAsOfMs(0)).toBe(0)
})

test('what one thread sets another reads from the share', () => {
  const board = ProgressBoard.create(2, 3)
  const other = new ProgressBoard(structuredClone(board.share))
  board.setSlotStatus(1, 'restoring')
  board.setLiveVersion(5, 42)
  board.setCompletedCheckpoint(7, 1_700_000_000_000)
  board.bumpRoutingEpoch()
  expect(other.slotStatus(1)).toBe('restoring')
  expect(other.slotStatus(0)).toBe('down')
  expect(other.liveVersion(5)).toBe(42)
  expect(other.liveVersion(4)).toBe(0)
  expect(other.completedCheckpoint()).toBe(7)
  expect(other.completedCheckpointAsOfMs()).toBe(1_700_000_000_000)
  // A version that goes live changes the routing table, too.
  expect(other.routingEpoch()).toBe(2)
})

test('the live version lacks rows only where a slot runs: until then, tables of before are read', () => {
  const board = ProgressBoard.create(2, 3)
  const other = new ProgressBoard(structuredClone(board.share))
  board.setLiveVersion(5, 42)
  board.setLiveIncomplete(5, true)
  expect(other.isLiveIncomplete(5)).toBe(false)
  board.setSlotStatus(1, 'running')
  expect([4, 5, 6].map((model) => other.isLiveIncomplete(model))).toEqual([false, true, false])
  expect([other.liveVersion(5), other.liveVersion(6)]).toEqual([42, 0])
  board.setLiveIncomplete(5, false)
  expect(other.isLiveIncomplete(5)).toBe(false)
})

test('progress is kept by slot and partition, each in its own place', () => {
  const board = ProgressBoard.create(3, 4)
  for (let slot = 0; slot < 3; slot++) {
    for (let partition = 0; partition < 4; partition++) {
      board.setProgress(slot, partition, 2 ** 40 + slot * 10 + partition, 1000 + slot * 10)
    }
  }
  board.setCompletedCheckpoint(9, 5)
  expect(board.nextOffset(2, 3)).toBe(2 ** 40 + 23)
  expect(board.nextOffset(0, 0)).toBe(2 ** 40)
  expect(board.asOfMs(1, 2)).toBe(1010)
})

test('the age of a slot is that of its oldest reported partition', () => {
  const board = ProgressBoard.create(1, 3)
  board.setProgress(0, 2, 5, 2000)
  expect(board.oldestAsOfMs(0)).toBe(2000)
  board.setProgress(0, 0, 5, 1500)
  expect(board.oldestAsOfMs(0)).toBe(1500)
})

test('the age of a slot is unknown while a partition exists that it has not reported, of any source', () => {
  const sources = [
    { uid: 'rows', tracked: true },
    { uid: 'deltas', tracked: true },
  ]
  const board = ProgressBoard.create(2, 3, sources)
  for (const [source, partition] of [
    [0, 0],
    [0, 2],
    [1, 1],
  ] as const) {
    board.addPartition(partition, source)
  }
  board.addPartition(5, 0)
  const ages: number[] = []
  for (const [source, partition] of [
    [0, 0],
    [1, 1],
    [0, 2],
  ] as const) {
    ages.push(board.oldestAsOfMs(1))
    board.setProgress(1, partition, 5, 2000 + partition, source)
  }
  expect([...ages, board.oldestAsOfMs(1), board.oldestAsOfMs(0)]).toEqual([0, 0, 0, 2000, 0])
  // A later attempt reads the same partitions.
  board.resetProgress(1)
  board.setProgress(1, 0, 5, 3000, 0)
  expect(board.sourceAsOfMs(1, 0)).toBe(0)
})

test('the age of a slot is unknown while the slot has not reported one for each of its partitions', () => {
  const board = ProgressBoard.create(1, 3)
  board.setWithoutAsOf(0, 1, 7)
  board.setProgress(0, 0, 5, 2000)
  expect(board.oldestAsOfMs(0)).toBe(0)
  expect(board.nextOffset(0, 1)).toBe(7)
  expect(board.asOfMs(0, 1)).toBe(0)
  board.setProgress(0, 1, 8, 1500)
  expect(board.oldestAsOfMs(0)).toBe(1500)
})

test('partitions beyond the board are not tracked', () => {
  const board = ProgressBoard.create(2, 2)
  board.setProgress(0, 2, 99, 99)
  board.setProgress(0, -1, 99, 99)
  expect(board.nextOffset(1, 0)).toBe(0)
  expect(board.nextOffset(0, 1)).toBe(0)
})
