import { WeirError } from '../../core/errors.ts'
import type { CheckpointDecline } from '../protocol/checkpoint-types.ts'

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
