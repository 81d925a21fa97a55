/** Why a checkpoint did not complete. */
export type CheckpointFailureReason =
  /** A task declined. */
  | 'declined'
  /** Acknowledgements were missing at the timeout. */
  | 'expired'
  /** Storage could not write the manifest. */
  | 'storage'
  /** What sinks have prepared for it can no longer be committed. */
  | 'outdated'
  /** A newer checkpoint completed first. */
  | 'subsumed'
  /** The attempt ended. */
  | 'stopped'
  /** A newer coordinator owns the folder. */
  | 'fenced'

/** Decision about a failed checkpoint. */
export type FailureDecision =
  /** Continue; `failures` is the new number of failures in a row. */
  | { readonly kind: 'continue'; readonly failures: number }
  /** More failures in a row than are tolerated: the job fails, and its restart strategy decides. */
  | { readonly kind: 'fail-job'; readonly failures: number }
  /** This coordinator must never act again. */
  | { readonly kind: 'stop-coordinator' }

/**
 * Judges a failure after `failuresBefore` failures since the last completed checkpoint.
 * `tolerable` failures in a row are accepted (Flink's tolerable-failed-checkpoints).
 */
export function decideFailure(
  reason: CheckpointFailureReason,
  failuresBefore: number,
  tolerable: number,
): FailureDecision {
  if (reason === 'fenced') return { kind: 'stop-coordinator' }
  if (reason === 'subsumed' || reason === 'stopped') {
    return { kind: 'continue', failures: failuresBefore }
  }
  const failures = failuresBefore + 1
  // Every later checkpoint has it, too.
  if (reason === 'outdated') return { kind: 'fail-job', failures }
  return { kind: failures > tolerable ? 'fail-job' : 'continue', failures }
}
