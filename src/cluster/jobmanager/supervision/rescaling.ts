import { requireArgument, WeirError } from '../../../core/errors.ts'
import type { JobSubmission } from '../../rest/port/cluster.ts'
import type { JobSnapshot } from '../../rest/port/job-snapshot.ts'

/** Configuration key that has the same meaning as the option `slots`, and overrides it. */
const PARALLELISM = 'parallelism.default'

/**
 * Throws unless the job can go on with that parallelism: ILLEGAL_STATE for one that does not run, takes no
 * checkpoints, or fixes the parallelism of all its operators; INVALID_ARGUMENT above the max parallelism of an operator.
 */
export function requireRescalable(job: JobSnapshot, parallelism: number): void {
  if (job.status !== 'RUNNING') {
    throw new WeirError('ILLEGAL_STATE', `job ${job.id} is ${job.status}, not RUNNING`)
  }
  if (job.checkpoints === undefined) {
    const message = `job ${job.id} takes no checkpoints, so that it would begin from nothing; set execution.checkpointing.dir`
    throw new WeirError('ILLEGAL_STATE', message)
  }
  const following = job.vertices.filter(({ hasOwnParallelism }) => hasOwnParallelism !== true)
  if (following.length === 0) {
    const message = `the code of job ${job.id} fixes the parallelism of every operator; change setParallelism there, and submit it again from a savepoint`
    throw new WeirError('ILLEGAL_STATE', message)
  }
  requireArgument(
    Number.isInteger(parallelism) && parallelism > 0,
    `the parallelism is a whole number from 1, not ${parallelism}`,
  )
  for (const { name, maxParallelism } of following) {
    requireArgument(
      parallelism <= maxParallelism,
      `"${name}" has the max parallelism ${maxParallelism}, so that its parallelism cannot be ${parallelism}; its key groups cannot be split further`,
    )
  }
}

/** The submission of the same job with another parallelism. */
export function withParallelism(submission: JobSubmission, parallelism: number): JobSubmission {
  const { set = [], ...options } = submission.options
  const kept = (Array.isArray(set) ? (set as readonly string[]) : []).filter(
    (text) => !text.startsWith(`${PARALLELISM}=`),
  )
  return { ...submission, options: { ...options, set: kept, slots: String(parallelism) } }
}
