import { WeirError } from '../../core/errors.ts'

/** Jobs that run at a time unless the start says otherwise: each is a process with a heap. */
export const DEFAULT_MAX_JOBS = 64

/** Facts about a submission. */
export interface SubmissionFacts {
  /** Who submitted each job that has not ended; undefined for a user of this machine. */
  readonly running: readonly (string | undefined)[]
  /** Who submits one more. */
  readonly client: string | undefined
  /** Most jobs at a time. */
  readonly most: number
}

/**
 * Checks that one more job may run, and that its client keeps to its share: half of all jobs, so that no token or
 * address locks the others out. Users of this machine have no share. Throws OVERLOADED.
 */
export function requireJobShare({ running, client, most }: SubmissionFacts): void {
  const advice = 'cancel one, or start the JobManager with a higher --max-jobs'
  if (running.length >= most) {
    const message = `${running.length} jobs run, and this JobManager runs at most ${most}: ${advice}`
    throw new WeirError('OVERLOADED', message)
  }
  if (client === undefined) return
  const share = Math.ceil(most / 2)
  const own = running.filter((other) => other === client).length
  if (own < share) return
  const message = `${own} of the jobs that run are yours, and one client has at most ${share} of ${most}: ${advice}`
  throw new WeirError('OVERLOADED', message)
}
