/** How a model was asked for: the gaps between the batches that came for it. Times are monotonic ms. */
export interface AskingHistory {
  /** Gaps that count; 0 for none yet. */
  readonly gaps: number
  readonly meanGapMs: number
  /** Mean distance of a gap from the mean. */
  readonly deviationMs: number
  /** When it was asked last; 0 for never. */
  readonly lastAskedAt: number
}
