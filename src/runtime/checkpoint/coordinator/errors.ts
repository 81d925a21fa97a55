import type { Clock } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import { isOver } from '../../../core/moment.ts'
import type { CheckpointAck, CheckpointDecline } from '../protocol/checkpoint-types.ts'

/** Error of a checkpoint that a task declined. */
export function declinedError(decline: CheckpointDecline): WeirError {
  const { task, checkpointId, reason } = decline
  const message = `task ${task} declined checkpoint ${checkpointId}: ${reason}`
  return new WeirError('CHECKPOINT_DECLINED', message, { details: { task, checkpointId } })
}

/** Error of a checkpoint that the tasks `missing` did not acknowledge in time. */
export function expiredError(
  checkpointId: number,
  timeoutMs: number,
  missing: readonly string[],
): WeirError {
  const message = `checkpoint ${checkpointId} was not acknowledged within ${timeoutMs} ms by ${missing.join(', ')}; look for backpressure or raise the timeout`
  return new WeirError('CHECKPOINT_EXPIRED', message, { details: { checkpointId } })
}

/** Error of a checkpoint that completed after a newer one. */
export function subsumedError(): WeirError {
  return new WeirError('CHECKPOINT_DECLINED', 'a newer checkpoint completed first')
}

/** Error of a checkpoint whose attempt ended. */
export function stoppedError(): WeirError {
  return new WeirError('CHECKPOINT_DECLINED', 'the job attempt ended; try again')
}

/** Throws TRANSACTION_ABORTED when a sink can no longer commit what it prepared for a checkpoint. */
export function requireCommittable(acks: readonly CheckpointAck[], clock: Clock): void {
  const late = acks.find(({ commitBy = [] }) =>
    commitBy.some((deadline) => isOver(clock, deadline)),
  )
  if (late === undefined) return
  const message = `checkpoint ${late.checkpointId} does not count: it took so long to store that a transaction of ${late.task} was aborted, or is about to be, by its timeout; the job restarts from the checkpoint before. Make the transaction timeout longer than the time between two checkpoints plus the longest outage`
  throw new WeirError('TRANSACTION_ABORTED', message, { details: { task: late.task } })
}
