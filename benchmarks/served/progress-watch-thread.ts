import { workerData } from 'node:worker_threads'
import { ProgressBoard } from '../../src/state/catalog/progress-board.ts'
import type { ProgressWatchPlan } from './progress-watch.ts'

/** Maximum number of partitions: more than any model topic of the benchmarks has. */
const PARTITIONS = 16

const { board: share, longest: buffer } = workerData as ProgressWatchPlan
const board = new ProgressBoard(share)
const longest = new Float64Array(buffer)
const sleep = new Int32Array(new SharedArrayBuffer(4))
const applied = new Float64Array(share.slots)
const changedAt = new Float64Array(share.slots).fill(performance.now())

function appliedBy(slot: number): number {
  let sum = 0
  for (let partition = 0; partition < Math.min(PARTITIONS, share.partitions); partition++) {
    sum += board.nextOffset(slot, partition)
  }
  return sum
}

for (;;) {
  Atomics.wait(sleep, 0, 0, 1)
  const now = performance.now()
  for (let slot = 0; slot < share.slots; slot++) {
    const sum = appliedBy(slot)
    if (sum === applied[slot]) continue
    const gap = now - changedAt[slot]!
    if (gap > longest[0]!) longest[0] = gap
    applied[slot] = sum
    changedAt[slot] = now
  }
}
