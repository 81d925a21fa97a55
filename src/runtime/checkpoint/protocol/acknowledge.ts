import type { CheckpointAck, CheckpointDecline } from './checkpoint-types.ts'

/** A checkpoint that was triggered and waits for acknowledgements. */
export interface CollectingCheckpoint {
  readonly checkpointId: number
  /** Tasks that must acknowledge. */
  readonly tasks: ReadonlySet<string>
  readonly acks: ReadonlyMap<string, CheckpointAck>
}

/** Facts about the coordinator when a message arrives. */
export interface AcknowledgeFacts {
  readonly jobId: string
  /** The running attempt; undefined when none runs. */
  readonly attempt: number | undefined
  readonly collecting: ReadonlyMap<number, CollectingCheckpoint>
}

/** Outcome of an acknowledgement. */
export type AckOutcome =
  /** It counts; others are still missing. */
  | { readonly kind: 'accepted'; readonly checkpoint: CollectingCheckpoint }
  /** It counts and was the last one. */
  | { readonly kind: 'completed'; readonly checkpoint: CollectingCheckpoint }
  /** The task has acknowledged this checkpoint before. */
  | { readonly kind: 'duplicate' }
  /** The checkpoint is already settled (completed, aborted, expired) or was never triggered. */
  | { readonly kind: 'late-ignored' }
  /** It belongs to another job or attempt. */
  | { readonly kind: 'foreign-ignored' }
  /** No task with this name takes part. */
  | { readonly kind: 'unknown-task' }

/** Outcome of a refusal. */
export type DeclineOutcome =
  /** The checkpoint can no longer complete. */
  | { readonly kind: 'aborted'; readonly checkpointId: number }
  | { readonly kind: 'late-ignored' }
  | { readonly kind: 'foreign-ignored' }
  | { readonly kind: 'unknown-task' }

/** Outcome of a checkpoint's timeout. */
export type ExpiryOutcome =
  /** It still waits for acknowledgements and is aborted. */
  | { readonly kind: 'expired'; readonly missing: readonly string[] }
  /** All acknowledgements have arrived, or the checkpoint is settled. */
  | { readonly kind: 'late-ignored' }

type Recognized =
  | { readonly kind: 'recognized'; readonly checkpoint: CollectingCheckpoint }
  | { readonly kind: 'late-ignored' }
  | { readonly kind: 'foreign-ignored' }
  | { readonly kind: 'unknown-task' }

/** Judges an acknowledgement; changes nothing. */
export function judgeAck(facts: AcknowledgeFacts, ack: CheckpointAck): AckOutcome {
  const found = recognize(facts, ack)
  if (found.kind !== 'recognized') return found
  if (found.checkpoint.acks.has(ack.task)) return { kind: 'duplicate' }
  const acks = new Map(found.checkpoint.acks).set(ack.task, ack)
  const checkpoint = { ...found.checkpoint, acks }
  return { kind: acks.size === checkpoint.tasks.size ? 'completed' : 'accepted', checkpoint }
}

/**
 * Judges a refusal. A task may decline after it has acknowledged: the files that it wrote are then in
 * doubt.
 */
export function judgeDecline(facts: AcknowledgeFacts, decline: CheckpointDecline): DeclineOutcome {
  const found = recognize(facts, decline)
  if (found.kind !== 'recognized') return found
  return { kind: 'aborted', checkpointId: decline.checkpointId }
}

/** Judges the timeout of a checkpoint. */
export function judgeExpiry(facts: AcknowledgeFacts, checkpointId: number): ExpiryOutcome {
  const checkpoint = facts.collecting.get(checkpointId)
  if (checkpoint === undefined) return { kind: 'late-ignored' }
  const missing = [...checkpoint.tasks].filter((task) => !checkpoint.acks.has(task))
  return { kind: 'expired', missing }
}

function recognize(
  facts: AcknowledgeFacts,
  message: { jobId: string; attempt: number; checkpointId: number; task: string },
): Recognized {
  if (message.jobId !== facts.jobId || message.attempt !== facts.attempt) {
    return { kind: 'foreign-ignored' }
  }
  const checkpoint = facts.collecting.get(message.checkpointId)
  if (checkpoint === undefined) return { kind: 'late-ignored' }
  if (!checkpoint.tasks.has(message.task)) return { kind: 'unknown-task' }
  return { kind: 'recognized', checkpoint }
}
