import { defaultMaxParallelism } from '../core/key-group.ts'
import { msgpackSerializer, type Serializer } from '../core/serializer.ts'
import type { OutputTag } from '../operators/output-tag.ts'
import type { MapStateDescriptor } from '../state/descriptors.ts'
import type { NodeBody, Partitioning } from './stream-graph.ts'

/** What a node's body may depend on and is only known when the graph is complete. */
export interface NodeSettings {
  readonly jobName: string
  /** Whether watermarks reach the node. */
  readonly eventTime: boolean
}

/** What the user says about an operator; the rest is worked out when the graph is complete. */
export interface NodeSpec {
  readonly name: string
  readonly inputs: number
  readonly body: (settings: NodeSettings) => NodeBody
  /** Encodes what the node emits. */
  readonly serializer?: Serializer<unknown>
  readonly isSink?: boolean
  readonly chainable?: boolean
  readonly parallelism?: number
  /** Ids of the side outputs it can emit; undefined when it is not known. @default none */
  readonly sideOutputs?: readonly string[] | 'any'
  /** The user's function has an `onTimer`. */
  readonly hasOnTimer?: boolean
  /** Uses state or timers of a key. */
  readonly needsKey?: boolean
  /** Means nothing without watermarks. */
  readonly needsEventTime?: boolean
  /** Makes watermarks: a source with a strategy, or `assignTimestampsAndWatermarks`. */
  readonly makesWatermarks?: boolean
  /** Declared by `broadcast(...)` on the second input. */
  readonly broadcastStates?: readonly MapStateDescriptor<unknown, unknown>[]
}

/** A node while the graph is being built; names, uids and parallelism may still change. */
export interface NodeDraft {
  readonly id: number
  readonly spec: NodeSpec
  name: string
  uid: string | undefined
  parallelism: number | undefined
  maxParallelism: number | undefined
  serializer: Serializer<unknown>
  chainable: boolean
  /** Nobody is meant to read its main output. */
  discarded: boolean
}

/** A node's main or side output, and how it is to be partitioned on its way. */
export interface StreamOrigin {
  readonly node: NodeDraft
  readonly tag: OutputTag<unknown> | undefined
  /** Undefined: forward where the parallelism is equal, else rebalance. */
  readonly partitioning: Partitioning | undefined
}

/** An edge while the graph is being built. */
export interface EdgeDraft extends StreamOrigin {
  readonly to: NodeDraft
  readonly input: number
}

/** Collects nodes and edges in the order in which the user writes them, which is topological. */
export class GraphDraft {
  readonly nodes: NodeDraft[] = []
  readonly edges: EdgeDraft[] = []
  /** Streams taken by `getSideOutput`, consumed or not. */
  readonly sideStreams: { readonly node: NodeDraft; readonly tag: OutputTag<unknown> }[] = []
  defaultParallelism = 1
  defaultMaxParallelism: number | undefined

  /** Adds a node that reads `inputs[i]` as its input i. */
  addNode(spec: NodeSpec, inputs: readonly (readonly StreamOrigin[])[]): NodeDraft {
    const node: NodeDraft = {
      id: this.nodes.length,
      spec,
      name: spec.name,
      uid: undefined,
      parallelism: spec.parallelism,
      maxParallelism: undefined,
      serializer: spec.serializer ?? msgpackSerializer(),
      chainable: spec.chainable ?? true,
      discarded: false,
    }
    this.nodes.push(node)
    for (const [input, origins] of inputs.entries()) {
      for (const origin of origins) this.edges.push({ ...origin, to: node, input })
    }
    return node
  }

  edgesInto(node: NodeDraft): EdgeDraft[] {
    return this.edges.filter((edge) => edge.to === node)
  }

  edgesOutOf(node: NodeDraft): EdgeDraft[] {
    return this.edges.filter((edge) => edge.node === node)
  }

  parallelismOf(node: NodeDraft): number {
    return node.parallelism ?? this.defaultParallelism
  }

  /**
   * The user's value, else that of the only forward input, else the environment's, else Flink's
   * default for the parallelism.
   */
  maxParallelismOf(node: NodeDraft): number {
    if (node.maxParallelism !== undefined) return node.maxParallelism
    const parallelism = this.parallelismOf(node)
    const [edge, ...others] = this.edgesInto(node)
    if (edge !== undefined && others.length === 0 && this.isForward(edge)) {
      const inherited = this.maxParallelismOf(edge.node)
      if (inherited >= parallelism) return inherited
    }
    return this.defaultMaxParallelism ?? defaultMaxParallelism(parallelism)
  }

  /** The partitioning of an edge, worked out where the user left it open. */
  partitioningOf(edge: EdgeDraft): Partitioning {
    if (edge.partitioning !== undefined) return edge.partitioning
    const equal = this.parallelismOf(edge.node) === this.parallelismOf(edge.to)
    return { kind: equal ? 'forward' : 'rebalance' }
  }

  isForward(edge: EdgeDraft): boolean {
    return this.partitioningOf(edge).kind === 'forward'
  }

  /** Whether watermarks reach the node (or start in it). */
  hasEventTime(node: NodeDraft, memo: Map<NodeDraft, boolean> = new Map()): boolean {
    const known = memo.get(node)
    if (known !== undefined) return known
    const inputs = this.edgesInto(node)
    const answer =
      node.spec.makesWatermarks === true ||
      (inputs.length > 0 && inputs.every((edge) => this.hasEventTime(edge.node, memo)))
    memo.set(node, answer)
    return answer
  }
}

/** The serializer of a stream's records when all origins agree on it, else MessagePack. */
export function commonSerializer(origins: readonly StreamOrigin[]): Serializer<unknown> {
  const serializers = origins.map(({ node, tag }) => tag?.serializer ?? node.serializer)
  const first = serializers[0] as Serializer<unknown> | undefined
  return first !== undefined && serializers.every((each) => each === first)
    ? first
    : msgpackSerializer()
}

/** The same outputs, partitioned by key; `inPlace` when they are so already. */
export function hashed<K, T>(
  origins: readonly StreamOrigin[],
  selector: (value: T) => K,
  keySerializer: Serializer<K>,
  inPlace = false,
): StreamOrigin[] {
  const partitioning: Partitioning = {
    kind: 'hash',
    keySelector: selector as (value: unknown) => unknown,
    keySerializer: keySerializer as Serializer<unknown>,
    inPlace,
  }
  return origins.map((origin) => ({ ...origin, partitioning }))
}
