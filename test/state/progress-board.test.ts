import { expect, test } from 'vitest'
import { MAX_MODELS, ProgressBoard } from '../../src/state/progress-board.ts'

test('a fresh board knows nothing: slots down, no live version, no checkpoint', () => {
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
  expect(other.completedCheckpointTimeMs()).toBe(1_700_000_000_000)
  expect(other.routingEpoch()).toBe(1)
})

test('progress stands by slot and partition, and no place is shared', () => {
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

test('the age of a slot is that of its oldest partition that was heard of', () => {
  const board = ProgressBoard.create(1, 3)
  board.setProgress(0, 2, 5, 2000)
  expect(board.oldestAsOfMs(0)).toBe(2000)
  board.setProgress(0, 0, 5, 1500)
  expect(board.oldestAsOfMs(0)).toBe(1500)
})

test('the age of a slot is not known while a partition that exists has told none', () => {
  const board = ProgressBoard.create(1, 3)
  board.setUntold(0, 1, 7)
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
