/** The receiver of what a watermark generator decides, one for each source partition or subtask. */
export interface WatermarkOutput {
  /** No record follows whose timestamp is at most this one. A smaller watermark than the last one changes nothing. Throws INVALID_ARGUMENT. */
  emitWatermark(timestamp: number): void
  /** Records are not expected: the watermarks of others no longer wait, until the next record or watermark. */
  markIdle(): void
  /** Ends what `markIdle` began. */
  markActive(): void
}

/**
 * Decides the watermarks of one source partition, or of one subtask in the middle of a stream. It is part of no
 * checkpoint: after a restart a new one begins.
 */
export interface WatermarkGenerator<T> {
  /** A record and its event time. A watermark that is emitted here follows the record directly. */
  onEvent(value: T, timestamp: number, output: WatermarkOutput): void
  /**
   * Called from time to time, with records or without them: in a source every `pipeline.auto-watermark-interval`,
   * in the middle of a stream between two slices of records.
   */
  onPeriodicEmit(output: WatermarkOutput): void
}
