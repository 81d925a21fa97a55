import type { ErrorCode, ErrorDetails } from '../../../core/errors.ts'
import type { StopRequest } from '../../rest/port/job-control.ts'
import type { JobData } from '../../rest/port/job-data.ts'
import type { JobSnapshot } from '../../rest/port/job-snapshot.ts'

/*
 * Messages between the JobManager and the process of a job, over the IPC channel that Node opens between
 * parent and child: plain data in structured-clone form. When the channel closes, the JobManager is gone,
 * and the process of the job ends.
 */

/** A request of the JobManager. */
export type JobCall =
  | { readonly method: 'snapshot' }
  | { readonly method: 'cancel' }
  | { readonly method: 'checkpoint' }
  | { readonly method: 'savepoint'; readonly folder: string | undefined }
  | { readonly method: 'stop'; readonly request: StopRequest }
  | { readonly method: 'data'; readonly of: keyof JobData; readonly request: object }
  | { readonly method: 'keyGroupRecords'; readonly uid: string }
  | { readonly method: 'profile'; readonly slot: number; readonly durationMs: number }

/** JobManager to process. */
export interface JobCommand {
  readonly kind: 'call'
  /** Number of the request, which the reply repeats. */
  readonly request: number
  readonly call: JobCall
}

/** An error as plain data. */
export interface ErrorMessage {
  readonly code: ErrorCode
  readonly message: string
  readonly details: ErrorDetails
}

/** Process to JobManager. */
export type JobReport =
  /** The job is started; its snapshot follows every change of its state. */
  | { readonly kind: 'started'; readonly snapshot: JobSnapshot }
  | { readonly kind: 'changed'; readonly snapshot: JobSnapshot }
  /** The process cannot start the job. */
  | { readonly kind: 'not-started'; readonly error: ErrorMessage }
  | { readonly kind: 'reply'; readonly request: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly request: number; readonly error: ErrorMessage }
