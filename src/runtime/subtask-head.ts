import type { ChainSource } from '../operators/operator.ts'

/** Where a subtask's records come from: a source reader, or channels from other subtasks. */
export interface SubtaskHead {
  /** The head as the source that operators of the chain may move; undefined for channels. */
  readonly seekable?: ChainSource
  /**
   * Takes and processes some input, stopping at `untilMs` of the monotonic clock or when the subtask
   * can take no more. False when there was nothing to do.
   */
  step(untilMs: number): boolean
  /** What is due by the wall clock or because input has run out: idleness, watermarks, progress. */
  tick(nowMs: number, outOfInput: boolean): void
  /** When `tick` must be called at the latest, ms of the wall clock; undefined when only on input. */
  nextTickMs(nowMs: number): number | undefined
  /** Begins to read. */
  start(): Promise<void>
  close(): Promise<void>
}
