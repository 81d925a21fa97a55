/** A source of the job, as the progress over it is read. */
export interface TrackedSource {
  readonly uid: string
  /** Name of the topic that it reads; missing for a source of no topic. */
  readonly topic?: string
  /** Whether its records reach keyed state, so that slots report how far they have applied it. */
  readonly tracked: boolean
  /**
   * Number of the source through which effects of its records on other keys come back; `checkpoints` when
   * they come back only after a checkpoint.
   */
  readonly returnsThrough?: number | 'checkpoints'
}
