import { Worker } from 'node:worker_threads'
import type { ProgressBoard, ProgressBoardShare } from '../../src/state/catalog/progress-board.ts'

/** Input of the watching thread. */
export interface ProgressWatchPlan {
  readonly board: ProgressBoardShare
  /** One float64: the longest gap so far, in ms. */
  readonly longest: SharedArrayBuffer
}

/**
 * A thread that reads the offsets of the slots about once a millisecond, and keeps the longest time in which
 * one of them did not advance. The figure is only meaningful while records arrive all the time.
 */
export class ProgressWatch {
  private readonly longest: Float64Array

  constructor(board: ProgressBoard) {
    const buffer = new SharedArrayBuffer(8)
    this.longest = new Float64Array(buffer)
    const workerData: ProgressWatchPlan = { board: board.share, longest: buffer }
    const worker = new Worker(new URL('./progress-watch-thread.ts', import.meta.url), {
      workerData,
    })
    worker.unref()
  }

  /** The longest gap since the last call, in ms. */
  takeLongestMs(): number {
    const longest = this.longest[0]!
    this.longest[0] = 0
    return longest
  }
}
