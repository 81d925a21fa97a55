import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { JobData } from './job-data.ts'
import type { JobSnapshot } from './job-snapshot.ts'
import type { ScaledJob } from './scaled-job.ts'

/** Options of a stop with a savepoint. */
export interface StopRequest {
  /** Folder of checkpoint storage; undefined for the job's default. */
  readonly folder: string | undefined
  /** Let every window and timer fire first. */
  readonly drain: boolean
}

/** A CPU profile of one slot in V8's form. */
export interface CpuProfile {
  readonly nodes: readonly CpuProfileNode[]
  readonly samples?: readonly number[] | undefined
  /** Microseconds between a sample and the one before. */
  readonly timeDeltas?: readonly number[] | undefined
}

/** A function in a CPU profile. */
export interface CpuProfileNode {
  readonly id: number
  readonly callFrame: {
    readonly functionName: string
    readonly url: string
    readonly lineNumber: number
  }
  readonly children?: readonly number[] | undefined
}

/** One job, in this process or in another one. Methods throw WeirError. */
export interface JobControl {
  readonly id: string
  /** State, models and topics. Throws ILLEGAL_STATE while the job does not run. */
  readonly data: JobData
  /** Its processes, where it runs in many. */
  readonly scaled?: ScaledJob | undefined
  snapshot(): Promise<JobSnapshot>
  /** Ends the job; resolves as soon as the job is being cancelled. */
  cancel(): Promise<void>
  /** Takes a checkpoint and returns its id. */
  checkpoint(): Promise<number>
  /** Takes a savepoint and returns its place. */
  savepoint(folder: string | undefined): Promise<string>
  /** Takes a savepoint, ends the job as FINISHED and returns the savepoint's place. */
  stop(request: StopRequest): Promise<string>
  /** Records that an operator has received, estimated, by number of the key group. */
  keyGroupRecords(uid: string): Promise<MetricSnapshot>
  /** Records for some time what a slot computes. Throws UNSUPPORTED on a Node that cannot do that. */
  profile(slot: number, durationMs: number): Promise<CpuProfile>
}
