import type { JobControl } from './job-control.ts'
import type { JobSnapshot, ProcessSnapshot } from './job-snapshot.ts'

/** A job to start. */
export interface JobSubmission {
  /** `als-serving`, `svm-serving`, `online-als`, `online-svm`, or the path of a module. */
  readonly job: string
  /** Flags of the command that runs the job, without dashes: `{ "topic": "als-model", "slots": "2" }`. */
  readonly options: Readonly<Record<string, string | boolean | readonly string[]>>
}

/** A file of log lines. */
export interface LogFile {
  readonly name: string
  readonly bytes: number
  readonly modifiedMs: number
}

/** Logs of the JobManager or of one job's process. */
export interface Logs {
  list(): Promise<readonly LogFile[]>
  /** The last bytes of a file as text. Throws FILE_NOT_FOUND. */
  read(name: string): Promise<string>
}

/** The process that serves the REST interface and the jobs that it knows. */
export interface Cluster {
  /** Version of Weir. */
  readonly version: string
  /** Whether jobs can be submitted and the cluster can be shut down. */
  readonly isJobManager: boolean
  readonly process: () => ProcessSnapshot
  /** Configuration as text by key. */
  readonly configuration: Readonly<Record<string, string>>
  /** All jobs, running and ended, newest first. */
  jobs(): Promise<readonly JobSnapshot[]>
  /** The jobs as far as they run in this process, where others run a part of them; without it, `jobs` are. */
  ownJobs?(): Promise<readonly JobSnapshot[]>
  /** The job with this id. */
  job(id: string): JobControl | undefined
  /**
   * Starts a job and returns its id. `client`: whose share of jobs it takes; undefined for a user of this machine.
   * Throws UNSUPPORTED outside a JobManager, INVALID_ARGUMENT, and OVERLOADED when the share is taken.
   */
  submit(submission: JobSubmission, client?: string): Promise<string>
  /**
   * Lets a running job go on from a checkpoint with another parallelism; resolves when it has started again.
   * Throws UNSUPPORTED outside a JobManager, NOT_FOUND, INVALID_ARGUMENT, ILLEGAL_STATE, and what keeps the job
   * from starting with that parallelism; it then goes on with the one that it had.
   */
  rescale(jobId: string, parallelism: number): Promise<void>
  /** Ends every job with a checkpoint, then this process. Throws UNSUPPORTED outside a JobManager. */
  shutDown(): Promise<void>
  /** Logs of this process; undefined where they go to the terminal. */
  readonly logs: Logs | undefined
  /** Logs of the process of a job. */
  logsOf(jobId: string): Logs | undefined
}
