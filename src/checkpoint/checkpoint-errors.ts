import { messageOf, WeirError } from '../core/errors.ts'
import type { CheckpointDecline } from './protocol/checkpoint-types.ts'

/** A task declined. */
export function declinedError(decline: CheckpointDecline): WeirError {
  const { task, checkpointId, reason } = decline
  const message = `task ${task} declined checkpoint ${checkpointId}: ${reason}`
  return new WeirError('CHECKPOINT_DECLINED', message, { details: { task, checkpointId } })
}

/** Acknowledgements of the tasks `missing` did not come in time. */
export function expiredError(
  checkpointId: number,
  timeoutMs: number,
  missing: readonly string[],
): WeirError {
  const message = `checkpoint ${checkpointId} was not acknowledged within ${timeoutMs} ms by ${missing.join(', ')}; look for backpressure or raise the timeout`
  return new WeirError('CHECKPOINT_EXPIRED', message, { details: { checkpointId } })
}

/** A newer checkpoint completed first. */
export function subsumedError(): WeirError {
  return new WeirError('CHECKPOINT_DECLINED', 'a newer checkpoint completed first')
}

/** The attempt ended under the checkpoint. */
export function stoppedError(): WeirError {
  return new WeirError('CHECKPOINT_DECLINED', 'the job attempt ended; try again')
}

/** Anything that a commit threw, as a WeirError. */
export function commitError(cause: unknown): WeirError {
  if (cause instanceof WeirError) return cause
  return new WeirError('STORAGE_FAILED', `the checkpoint was not stored: ${messageOf(cause)}`, {
    cause,
  })
}
