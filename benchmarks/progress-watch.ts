import { Worker } from 'node:worker_threads'
import type { ProgressBoard, ProgressBoardShare } from '../src/state/progress-board.ts'

/** What the watching thread works on. */
export interface ProgressWatchPlan {
  readonly board: ProgressBoardShare
  /** One float64: the longest gap so far, in ms. */
  readonly longest: SharedArrayBuffer
}

/**
 * Watches from a thread of its own, about once a millisecond, how far the slots have applied the
 * source, and keeps the longest time in which one of them did not get on. It only means something
 * while records come in all the time.
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
