import { either, name, type OptionKind, oneOf, required } from '../core/options/kinds.ts'
import { nested } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import type { SenderFold } from '../operators/port/edge-fold.ts'
import type { RecordErrorPolicy } from '../operators/port/failed-record.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import type { Source } from '../operators/port/source.ts'
import type { WatermarkStrategy } from './watermark-strategy.ts'

/** The rule by which records of an edge go to a subtask. */
export type Partitioning =
  /** Same subtask index; chained by direct call when the parallelism is equal. */
  | { readonly kind: 'forward' }
  /** The subtask that owns the key group. `keySerializer` gives the canonical key bytes. */
  | {
      readonly kind: 'hash'
      readonly keySelector: (value: unknown) => unknown
      readonly keySerializer: Serializer<unknown>
      /** Every record is already in the subtask that owns its key; another one fails the job. */
      readonly inPlace: boolean
      readonly fold?: SenderFold
    }
  /** Round robin by batch. */
  | { readonly kind: 'rebalance' }
  /** Round robin by batch, over the subtasks that are this one's share of the receivers. */
  | { readonly kind: 'rescale' }
  /** A random subtask for each record. */
  | { readonly kind: 'shuffle' }
  /** The first subtask gets every record. */
  | { readonly kind: 'global' }
  /** The subtask whose number (0 <= n < receivers) the user's function returns. */
  | {
      readonly kind: 'custom'
      readonly partition: (value: unknown, receivers: number) => number
    }
  /** Every subtask gets every record. */
  | { readonly kind: 'broadcast' }

/**
 * How effects of a source's records on other keys come back to the job: through another source, with this
 * uid, or only after a checkpoint.
 */
export type ReturnPath = { readonly source: string } | 'checkpoints'

/** The values of a return path. */
export const RETURN_PATH: OptionKind<ReturnPath> = either(
  oneOf('checkpoints'),
  nested<{ readonly source: string }>({ source: required(name) }),
)

/** The source or operator of a node. */
export type NodeBody =
  | {
      readonly kind: 'source'
      readonly source: Source<unknown>
      readonly watermarks: WatermarkStrategy<unknown>
      /** Undefined: its records have no effects that come back. */
      readonly returnsThrough?: ReturnPath | undefined
    }
  | { readonly kind: 'operator'; readonly create: () => StreamOperator }

/** An operator of the job before it is split into subtasks. */
export interface StreamNode {
  readonly id: number
  /** Set by the user, or generated from the position in the graph. */
  readonly uid: string
  readonly uidGenerated: boolean
  /** Whether it is a part of another operator, which users cannot name. @default false */
  readonly isPart?: boolean
  readonly name: string
  readonly parallelism: number
  /** Whether the parallelism is the operator's own: it does not follow that of the job. */
  readonly hasOwnParallelism: boolean
  readonly maxParallelism: number
  readonly body: NodeBody
  /** Number of inputs: 0, 1 or 2. */
  readonly inputs: number
  /** Whether it is allowed to be chained to its input. */
  readonly chainable: boolean
  /** Whether it ends a branch (sink, queryable state). */
  readonly isSink: boolean
  /** Whether it is a sink that only has queryable state, and nothing outside. @default false */
  readonly isStore?: boolean
  /** Model that it asks; the job then needs a coordinator of models. */
  readonly model?: string
  /** What happens with a record at which it throws. @default the attempt fails */
  readonly onError?: Exclude<RecordErrorPolicy, 'fail'>
  /** Whether `onError` is that of the job: an asynchronous function, which handles its own errors, does not obey it. */
  readonly isOnErrorOfJob?: boolean
}

/** A stream between two nodes. */
export interface StreamEdge {
  readonly from: number
  readonly to: number
  /** Input of the target: 0 or 1. */
  readonly input: number
  /** Set when the edge carries a side output of `from`. */
  readonly sideOutputTag: string | undefined
  readonly partitioning: Partitioning
  /** Whether the receiver reads it to the end that its sources had at the start, before its other input. @default false */
  readonly loadsFirst?: true
  /** Encodes values when the edge crosses slots. */
  readonly serializer: Serializer<unknown>
}

/** A validated job graph; nodes are in topological order. */
export interface StreamGraph {
  readonly jobName: string
  readonly nodes: readonly StreamNode[]
  readonly edges: readonly StreamEdge[]
}

/** Plain data that an executor understands, for example `{ slots: 2 }`. */
export type ExecuteOptions = Readonly<Record<string, unknown>>

/** Result of a finished job. */
export interface JobResult {
  readonly jobName: string
  /** Wall-clock time from deployment to the end, in ms. */
  readonly runtimeMs: number
  /**
   * The result of an accumulator; undefined when no function added it. Throws STATE_CONFLICT when subtasks gave it
   * different types, OPERATOR_FAILED when code of the user could not merge it.
   */
  getAccumulatorResult<R>(name: string): R | undefined
  /** The results of all accumulators by name. Throws as `getAccumulatorResult`. */
  getAllAccumulatorResults(): Record<string, unknown>
}

/** A job that an executor has started. */
export interface StartedJob {
  /** Resolves when the job has finished; rejects with JOB_FAILED or JOB_CANCELED. */
  readonly result: Promise<JobResult>
  /** Ends the job; resolves when it has ended. */
  cancel(): Promise<void>
}

/** A runner of graphs. The runtime has one that runs all slots in the calling thread. */
export interface JobExecutor {
  /**
   * Starts the job and returns at once. An executor has it where sinks of the graph may share memory with the
   * caller, which `executeAndCollect` needs.
   */
  start?(graph: StreamGraph, options: ExecuteOptions): StartedJob
  /** Resolves when the job has finished; rejects with JOB_FAILED or JOB_CANCELED. */
  execute(graph: StreamGraph, options: ExecuteOptions): Promise<JobResult>
}
