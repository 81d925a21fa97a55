import { expect, it } from 'vitest'
import { CheckpointTimes } from '../../../src/runtime/job/checkpoints.ts'
import { ProgressBoard } from '../../../src/state/catalog/progress-board.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

it('a checkpoint is as old as what its slots had applied when it began, of those that apply sources', () => {
  const board = ProgressBoard.create(3, 1)
  const clock = new ManualClock()
  clock.advance(5000)
  const times = new CheckpointTimes(board, clock)
  board.setWithoutProgress(2)
  const timeOf = (checkpointId: number): number => {
    times.triggered(checkpointId)
    return times.completed(checkpointId)
  }
  const began: number[] = [timeOf(1)]
  for (const slot of [0, 1]) {
    board.setReported(slot)
    board.setProgress(slot, 0, 9, 4000 - slot)
    began.push(timeOf(2 + slot))
  }
  expect(began).toEqual([0, 0, 3999])
  // A slot that begins to restore has reported nothing yet.
  board.resetProgress(1)
  expect(timeOf(4)).toBe(0)
})
