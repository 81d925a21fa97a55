import type { LastFailure } from '../../../src/cluster/rest/json/exceptions.ts'

/*
 * Answers of the REST interface, as far as the dashboard reads them. docs/reference/rest.md describes the paths.
 * Times are in ms since 1970, -1 where the event has not happened.
 */

/** `/overview` */
export interface Overview {
  readonly 'slots-total': number
  readonly 'jobs-running': number
  readonly 'jobs-finished': number
  readonly 'jobs-cancelled': number
  readonly 'jobs-failed': number
  readonly 'flink-commit': string
}

/** A row of `/jobs/overview`. */
export interface JobRow {
  readonly jid: string
  readonly name: string
  readonly state: string
  readonly 'start-time': number
  readonly 'end-time': number
  readonly duration: number
  readonly 'last-modification': number
  readonly restarts: number
  readonly lastFailure: LastFailure | null
  readonly tasks: Readonly<Record<string, number>>
}

/** The newest failure of a job. */
export type { LastFailure } from '../../../src/cluster/rest/json/exceptions.ts'

/** `/jobs/overview` */
export interface JobsOverview {
  readonly jobs: readonly JobRow[]
}

/** Counters of a task. */
export interface TaskIo {
  readonly 'read-records': number
  readonly 'write-records': number
  readonly 'read-bytes': number
  readonly 'write-bytes': number
}

/** A vertex in `/jobs/:id`. */
export interface JobVertex {
  readonly id: string
  readonly name: string
  readonly parallelism: number
  readonly maxParallelism: number
  readonly status: string
  readonly metrics: TaskIo
}

/** `/jobs/:id` */
export interface JobDetail {
  readonly jid: string
  readonly name: string
  readonly state: string
  /** For what the job waits, a sentence each; an older server says nothing of it. */
  readonly waiting?: readonly string[]
  readonly 'start-time': number
  readonly 'end-time': number
  readonly duration: number
  readonly now: number
  readonly timestamps: Readonly<Record<string, number>>
  readonly vertices: readonly JobVertex[]
  readonly plan: { readonly nodes: readonly PlanNode[] }
}

/** A node of the plan. */
export interface PlanNode {
  readonly id: string
  readonly inputs?: readonly { readonly id: string; readonly ship_strategy: string }[]
}

/** `/weir/jobs/:id/live` */
export interface JobLive {
  readonly now: number
  readonly state: string
  readonly restarts: number
  readonly failures: number
  readonly lastFailure: LastFailure | null
  readonly takesCheckpoints: boolean
  readonly learns: boolean
  /** Of the job, and so of all operators without one of their own. */
  readonly parallelism: number
  readonly vertices: readonly VertexLive[]
}

/** Load of one vertex. */
export interface VertexLive {
  readonly id: string
  /** First part of the names of its metrics. */
  readonly uid: string
  readonly busy: number
  readonly backPressured: number
  readonly idle: number
  readonly recordsInPerSecond: number
  readonly recordsOutPerSecond: number
  /** The least one of its subtasks, ms since 1970; null before the first. */
  readonly watermark: number | null
  readonly withoutWatermark: number
  /** Whether the code fixes its parallelism. */
  readonly hasOwnParallelism: boolean
}

/** `/weir/jobs/:id/learning` */
export type { LearningJson as Learning } from '../../../src/cluster/rest/json/learning.ts'

/** `/weir/jobs/:id/history` */
export interface History {
  /** Ms since 1970. */
  readonly times: readonly number[]
  readonly series: readonly {
    readonly metric: string
    readonly values: readonly (number | null)[]
  }[]
}

/** `/jobs/:id/vertices/:id` */
export interface VertexDetail {
  readonly subtasks: readonly {
    readonly subtask: number
    readonly status: string
    readonly metrics: TaskIo
    readonly 'taskmanager-id': string
  }[]
}

/** `/weir/jobs/:id/vertices/:id/key-groups` */
export interface KeyGroups {
  /** Whether keyed records have arrived. */
  readonly isKeyed: boolean
  readonly maxParallelism: number
  readonly records: number
  /** In percent. */
  readonly subtaskSkew: number
  readonly keyGroupSkew: number
  readonly hottest: { readonly keyGroup: number; readonly share: number } | null
  readonly subtasks: readonly {
    readonly subtask: number
    readonly first: number
    readonly last: number
    readonly records: number
  }[]
  readonly groupsPerBar: number
  readonly bars: readonly number[]
}

/** `/jobs/:id/vertices/:id/backpressure`; `subtasks` is null for a job that does not run. */
export interface BackPressure {
  readonly subtasks:
    | readonly {
        readonly subtask: number
        readonly ratio: number
        readonly idleRatio: number
        readonly busyRatio: number
      }[]
    | null
}

/** A value of Flink's metrics. */
export interface Metric {
  readonly id: string
  readonly value?: string
}

/** A checkpoint in the history. */
export interface Checkpoint {
  readonly id: number
  readonly status: 'COMPLETED' | 'FAILED' | 'IN_PROGRESS'
  readonly is_savepoint: boolean
  readonly checkpoint_type: string
  readonly trigger_timestamp: number
  readonly latest_ack_timestamp: number
  readonly checkpointed_size: number
  readonly state_size: number
  readonly end_to_end_duration: number
  readonly num_subtasks: number
  readonly num_acknowledged_subtasks: number
  readonly external_path?: string
  readonly failure_message?: string
}

/** `/jobs/:id/checkpoints` */
export interface Checkpoints {
  readonly counts: Readonly<
    Record<'restored' | 'total' | 'in_progress' | 'completed' | 'failed', number>
  >
  readonly latest: {
    readonly completed: Checkpoint | null
    readonly savepoint: Checkpoint | null
    readonly failed: Checkpoint | null
    readonly restored: {
      readonly id: number
      readonly restore_timestamp: number
      readonly is_savepoint: boolean
      readonly external_path: string
    } | null
  }
  readonly history: readonly Checkpoint[]
}

/** `/jobs/:id/checkpoints/details/:id` */
export interface CheckpointDetail extends Checkpoint {
  readonly tasks: Readonly<
    Record<
      string,
      {
        readonly checkpointed_size: number
        readonly end_to_end_duration: number
        readonly num_subtasks: number
        readonly num_acknowledged_subtasks: number
      }
    >
  >
}

/** `/jobs/:id/checkpoints/config` */
export interface CheckpointConfig {
  readonly mode: string
  readonly interval: number
  readonly timeout: number
  readonly state_backend: string
}

/** `/jobs/:id/exceptions` */
export interface Exceptions {
  readonly exceptionHistory: {
    readonly truncated: boolean
    readonly entries: readonly {
      readonly exceptionName: string
      readonly stacktrace: string
      readonly timestamp: number
      readonly taskName: string | null
    }[]
  }
}

/** `/jobs/:id/config` */
export interface JobConfig {
  readonly 'execution-config': {
    readonly 'restart-strategy': string
    readonly 'job-parallelism': number
    readonly 'user-config': Readonly<Record<string, string>>
  }
}

/** A node of `/jobs/:id/vertices/:id/flamegraph`. */
export interface FlameNode {
  readonly name: string
  readonly value: number
  readonly children: readonly FlameNode[]
}
