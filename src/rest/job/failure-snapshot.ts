import type { JobFailure } from '../../runtime/job/execution.ts'
import { codeOfFailure } from '../../runtime/protocol/slot-host.ts'
import type { FailureSnapshot } from '../port/job-snapshot.ts'

/** A failure of a job as plain data, with the stack of its cause where there is one. */
export function failureSnapshot({ attempt, atMs, error }: JobFailure): FailureSnapshot {
  const { task } = error.details
  const { cause } = error
  const stack = cause instanceof Error ? cause.stack : error.stack
  return {
    attempt,
    atMs,
    code: codeOfFailure(error),
    message: error.message,
    stack: `${error.message}\n${stack ?? ''}`.trimEnd(),
    task: typeof task === 'string' ? task : undefined,
  }
}
