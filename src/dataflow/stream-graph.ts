import type { Serializer } from '../core/serializer.ts'
import type { StreamOperator } from '../operators/operator.ts'
import type { Source } from '../operators/source.ts'
import type { WatermarkStrategy } from './watermark-strategy.ts'

/** How records of an edge find their target subtask. */
export type Partitioning =
  /** Same subtask index; chained by direct call when the parallelism is equal. */
  | { readonly kind: 'forward' }
  /** The owner of the key's group. `keySerializer` gives the canonical key bytes. */
  | {
      readonly kind: 'hash'
      readonly keySelector: (value: unknown) => unknown
      readonly keySerializer: Serializer<unknown>
      /** Every record is with the owner of its key already; one that is not fails the job. */
      readonly inPlace: boolean
    }
  /** Round robin by batch. */
  | { readonly kind: 'rebalance' }
  /** Every subtask gets every record. */
  | { readonly kind: 'broadcast' }

/** What a node runs. */
export type NodeBody =
  | {
      readonly kind: 'source'
      readonly source: Source<unknown>
      readonly watermarks: WatermarkStrategy<unknown>
    }
  | { readonly kind: 'operator'; readonly create: () => StreamOperator }

/** An operator of the job before it is split into subtasks. */
export interface StreamNode {
  readonly id: number
  /** Given by the user, or generated from the position in the graph. */
  readonly uid: string
  readonly uidGenerated: boolean
  readonly name: string
  readonly parallelism: number
  readonly maxParallelism: number
  readonly body: NodeBody
  /** Number of inputs: 0, 1 or 2. */
  readonly inputs: number
  /** Whether it is allowed to be chained to its input. */
  readonly chainable: boolean
  /** Whether it ends a branch (sink, queryable state). */
  readonly isSink: boolean
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
  /** Encodes values when the edge crosses slots. */
  readonly serializer: Serializer<unknown>
}

/** A validated job graph; nodes are in topological order. */
export interface StreamGraph {
  readonly jobName: string
  readonly nodes: readonly StreamNode[]
  readonly edges: readonly StreamEdge[]
}
