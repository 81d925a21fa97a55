import type { RestartHistory } from '../../../runtime/configuration/restart-strategy.ts'
import type { JobSubmission } from '../../rest/port/cluster.ts'
import type { FailureSnapshot, JobSnapshot } from '../../rest/port/job-snapshot.ts'

/** What the JobManager stores about a job: enough to start it again after a crash of the JobManager. */
export interface JobRecord {
  /** 32 hexadecimal digits. */
  readonly id: string
  readonly submission: JobSubmission
  /** Id of the token that submitted it, or an address; absent for a user of this machine. */
  readonly client?: string
  /** Query port that the JobManager chose for the job; undefined if the submission names one. */
  readonly queryPort: number | undefined
  readonly submittedMs: number
  /** Whether the job has ended for good: it is not started again. */
  readonly hasEnded: boolean
  /** Attempts of processes that ended before the job did. */
  readonly earlierAttempts: number
  /** Failures of earlier processes, oldest first. */
  readonly failures: readonly FailureSnapshot[]
  readonly restarts: RestartHistory
  /** Process that runs the job or ran it last; undefined before the first. */
  readonly pid: number | undefined
  /** The last snapshot that the process sent. */
  readonly snapshot: JobSnapshot | undefined
}
