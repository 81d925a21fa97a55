import type { ChainSource } from '../../operators/port/operator.ts'

/** Input of a subtask: a source reader, or channels from other subtasks. */
export interface SubtaskInput {
  /** The input as a source whose position operators of the chain may change; undefined for channels. */
  readonly seekable?: ChainSource
  /**
   * Takes and processes some input, stopping at `untilMs` of the monotonic clock or when the subtask
   * can take no more. False when there was nothing to do.
   */
  step(untilMs: number): boolean
  /** Takes a barrier in front of which no records wait; false when there is none. Sources are asked for barriers. */
  takeBarrier?(): boolean
  /**
   * Does what is due by the wall clock or because there is no more input: idleness, watermarks,
   * progress.
   */
  tick(nowMs: number, outOfInput: boolean): void
  /** When `tick` must be called at the latest, ms of the wall clock; undefined if only on input. */
  nextTickMs(nowMs: number): number | undefined
  /**
   * Copies the records that the barrier of a checkpoint has overtaken, when the state is fixed; undefined when
   * there are none by design. Resolves when the last of them has come.
   */
  overtaken?(checkpointId: number): Promise<readonly Uint8Array[]> | undefined
  /** Begins to read. */
  start(): Promise<void>
  close(): Promise<void>
}
