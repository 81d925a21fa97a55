import type { StreamGraph } from './stream-graph.ts'

/** Plain data that an executor understands, for example `{ slots: 2 }`. */
export type ExecuteOptions = Readonly<Record<string, unknown>>

/** What a finished job tells. */
export interface JobResult {
  readonly jobName: string
  /** Wall-clock time from deployment to the end, in ms. */
  readonly runtimeMs: number
}

/** Runs graphs; the runtime has one that runs all slots in the calling thread. */
export interface JobExecutor {
  /** Resolves when the job has finished; rejects with JOB_FAILED or JOB_CANCELED. */
  execute(graph: StreamGraph, options: ExecuteOptions): Promise<JobResult>
}
