import type { ErrorCode } from '../../../core/errors.ts'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { CheckpointHistograms } from '../../../runtime/checkpoint/coordinator/histograms.ts'
import type {
  CheckpointCounts,
  CheckpointStatistics,
} from '../../../runtime/checkpoint/coordinator/statistics.ts'
import type { JobStatus } from '../../../runtime/job/status.ts'

/*
 * A job as plain data. It crosses process boundaries (from the process of a job to the JobManager) and is
 * stored when the job has ended, so it holds no functions and no class instances. Times are in ms since
 * 1970, -1 where the event has not happened.
 */

/** Everything about a job at one moment that the REST interface shows. */
export interface JobSnapshot {
  /** 32 hexadecimal digits. */
  readonly id: string
  readonly name: string
  readonly status: JobStatus
  /** Time of the last change to each state; a state that the job never had is missing. */
  readonly timestamps: Readonly<Partial<Record<JobStatus, number>>>
  /** Time of this snapshot. */
  readonly nowMs: number
  /** Attempt that runs or ran last, 0 before the first. */
  readonly attempt: number
  readonly parallelism: number
  readonly vertices: readonly VertexSnapshot[]
  readonly slots: readonly SlotSnapshot[]
  /** Metrics under Weir's full names: `<uid>.<subtask>.numRecordsIn`, `slot.<n>.<name>`, `numRestarts`. */
  readonly metrics: MetricSnapshot
  /** Undefined for a job that an older version stored. */
  readonly accumulators?: AccumulatorsSnapshot | undefined
  readonly failures: readonly FailureSnapshot[]
  /** Undefined for a job that takes no checkpoints. */
  readonly checkpoints: CheckpointsSnapshot | undefined
  /** What the job waits for now; undefined for a job that an older version stored. */
  readonly waits?: readonly WaitSnapshot[] | undefined
  /** Configuration of the job: texts by Flink's keys. */
  readonly configuration: Readonly<Record<string, string>>
  /** Sentence about the restart strategy. */
  readonly restartStrategy: string
  readonly process: ProcessSnapshot
  /** The processes of a job in many processes; undefined for a job in one. */
  readonly processes?: readonly MemberSnapshot[] | undefined
}

/** One of the processes of a job. */
export interface MemberSnapshot {
  /** URL of its REST interface, or what is known of its address. */
  readonly address: string
  /** Slot threads; 0 for one that does not answer. */
  readonly slots: number
  /** Job partitions that it owns, ascending. */
  readonly owned: readonly number[]
  /** Undefined for one that does not answer. */
  readonly process: ProcessSnapshot | undefined
}

/** What a part of a job waits for. */
export interface WaitSnapshot {
  /** Uid of the operator; undefined for the checkpoints of the job. */
  readonly operator: string | undefined
  /** Code of the notice: retryable where a service outside does not answer. */
  readonly code: ErrorCode
  /** What it waits for, in words, such as `Kafka`. */
  readonly waitsFor: string
  /** Why it does not come, in words. */
  readonly why: string
  readonly sinceMs: number
}

/** One chain of operators: a box of the job graph. */
export interface VertexSnapshot {
  /** 32 hexadecimal digits that follow from the uid. */
  readonly id: string
  /** Uid of the head, the first part of the names of its metrics. */
  readonly uid: string
  /** Names of the operators, joined by arrows. */
  readonly name: string
  readonly parallelism: number
  /** Whether its code fixes the parallelism. Undefined for a job that an older version stored. */
  readonly hasOwnParallelism?: boolean | undefined
  readonly maxParallelism: number
  readonly isSource: boolean
  readonly operators: readonly OperatorSnapshot[]
  readonly inputs: readonly EdgeSnapshot[]
}

/** One operator of a chain. */
export interface OperatorSnapshot {
  readonly uid: string
  readonly name: string
  /** Whether its records leave the chain. */
  readonly hasOutput: boolean
}

/** An edge into a vertex. */
export interface EdgeSnapshot {
  /** Id of the vertex that sends. */
  readonly from: string
  readonly partitioning:
    | 'forward'
    | 'hash'
    | 'rebalance'
    | 'rescale'
    | 'shuffle'
    | 'global'
    | 'custom'
    | 'broadcast'
}

/** One slot of the job. */
export interface SlotSnapshot {
  readonly number: number
  readonly status: 'running' | 'starting' | 'restoring' | 'down'
}

/** The accumulators of a job, merged at each level. */
export interface AccumulatorsSnapshot {
  readonly job: readonly AccumulatorSnapshot[]
  /** Vertices that have some. */
  readonly vertices: readonly {
    readonly uid: string
    readonly accumulators: readonly AccumulatorSnapshot[]
    readonly subtasks: readonly {
      readonly subtask: number
      readonly accumulators: readonly AccumulatorSnapshot[]
    }[]
  }[]
}

/** One accumulator; its value is text for people, as in Flink. */
export interface AccumulatorSnapshot {
  readonly name: string
  readonly type: string
  readonly value: string
}

/** One failure of a job. */
export interface FailureSnapshot {
  readonly attempt: number
  readonly atMs: number
  readonly code: string
  readonly message: string
  readonly stack: string
  /** `<uid>#<subtask>`; undefined when no task failed. */
  readonly task: string | undefined
}

/** Checkpoints of a job. */
export interface CheckpointsSnapshot {
  readonly counts: CheckpointCounts
  /** Newest first. */
  readonly history: readonly CheckpointStatistics[]
  /** Of all checkpoints of the process; undefined for a job that an older version stored. */
  readonly histograms?: CheckpointHistograms | undefined
  /** The last one that was restored. */
  readonly restored: RestoredSnapshot | undefined
  readonly settings: CheckpointSettings
}

/** A checkpoint that an attempt restored. */
export interface RestoredSnapshot {
  readonly id: number
  readonly atMs: number
  readonly isSavepoint: boolean
  readonly path: string
}

/** Settings of checkpoints, for display. */
export interface CheckpointSettings {
  readonly mode: 'exactly-once' | 'at-least-once'
  readonly intervalMs: number | undefined
  readonly unaligned: boolean
  readonly alignedTimeoutMs: number
  readonly timeoutMs: number
  readonly minPauseMs: number
  readonly tolerableFailures: number
  readonly retained: number
  readonly directory: string
  readonly savepointDirectory: string
  readonly stateBackend: string
}

/** The process that runs the job. */
export interface ProcessSnapshot {
  readonly pid: number
  readonly host: string
  readonly cpuCores: number
  readonly startedMs: number
  /** Bytes. */
  readonly memory: {
    readonly physical: number
    readonly free: number
    readonly resident: number
    readonly heapUsed: number
    readonly heapCommitted: number
    readonly heapMax: number
    readonly external: number
  }
  /** Port of queries; undefined for a job that serves none. */
  readonly queryPort: number | undefined
}
