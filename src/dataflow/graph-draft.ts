import { msgpackSerializer } from '../core/formats/msgpack-serializer.ts'
import { defaultMaxParallelism } from '../core/key-group.ts'
import type { Serializer } from '../core/serializer.ts'
import type {
  FailedRecord,
  JobErrorPolicy,
  RecordErrorPolicy,
} from '../operators/port/failed-record.ts'
import { OutputTag } from '../operators/port/output-tag.ts'
import type { NodeSpec } from './node-spec.ts'
import type { Partitioning } from './stream-graph.ts'

/** Side output of each operator whose failed records go to the dead letters of the job. */
export const DEAD_LETTERS = new OutputTag<FailedRecord<unknown>>('weir-dead-letters')

/** Uid of the sink of a job's dead letters. */
export const DEAD_LETTERS_UID = 'dead-letters'

/** A node of a graph under construction. Its name, uid and parallelism can still change. */
export interface NodeDraft {
  readonly id: number
  readonly spec: NodeSpec
  name: string
  uid: string | undefined
  parallelism: number | undefined
  maxParallelism: number | undefined
  serializer: Serializer<unknown>
  chainable: boolean
  /** The user declared that no operator reads its main output. */
  discarded: boolean
  /** Whether it is a part of another operator, which users cannot name. */
  isPart: boolean
  /** Undefined: that of the job. */
  onError: RecordErrorPolicy | undefined
}

/** A main or side output of a node, and the partitioning of its records. */
export interface StreamOrigin {
  readonly node: NodeDraft
  readonly tag: OutputTag<unknown> | undefined
  /** Undefined: forward where the parallelism is equal, else rebalance. */
  readonly partitioning: Partitioning | undefined
  /** `first`: read before the other input of its operator. `any`: the user says that no order is needed. */
  readonly order?: 'first' | 'any'
}

/** An edge of a graph under construction. */
export interface EdgeDraft extends StreamOrigin {
  readonly to: NodeDraft
  readonly input: number
}

/** A graph under construction. Nodes and edges are in the order in which the user adds them, which is topological. */
export class GraphDraft {
  readonly nodes: NodeDraft[] = []
  readonly edges: EdgeDraft[] = []
  /** Streams of `getSideOutput`, with or without a reader. */
  readonly sideStreams: { readonly node: NodeDraft; readonly tag: OutputTag<unknown> }[] = []
  defaultParallelism = 1
  defaultMaxParallelism: number | undefined
  /** What happens with a record at which a function throws, in operators that do not say it. */
  onError: JobErrorPolicy = 'fail'

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
      chainable: true,
      discarded: false,
      isPart: false,
      onError: undefined,
    }
    this.nodes.push(node)
    for (const [input, origins] of inputs.entries()) {
      for (const origin of origins) this.edges.push({ ...origin, to: node, input })
    }
    return node
  }

  /** What happens with a record at which the function of a node throws; undefined where the attempt ends. */
  onErrorOf(node: NodeDraft): Exclude<RecordErrorPolicy, 'fail'> | undefined {
    const policy = node.onError ?? (this.obeysJob(node) ? this.onError : 'fail')
    if (policy === 'fail') return undefined
    return typeof policy === 'object' && 'deadLetters' in policy ? DEAD_LETTERS : policy
  }

  /** Whether the policy of the job is that of a node. Sinks and sources have their own ways with records that fail. */
  obeysJob({ onError, spec }: NodeDraft): boolean {
    return onError === undefined && spec.inputs > 0 && spec.isSink !== true
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
   * The max parallelism that the user set on the node, else that of its only forward input, else that of the
   * environment, else Flink's default for the parallelism.
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

  /** The partitioning of an edge. Where the user set none, it depends on the parallelism of both ends. */
  partitioningOf(edge: EdgeDraft): Partitioning {
    if (edge.partitioning !== undefined) return edge.partitioning
    const equal = this.parallelismOf(edge.node) === this.parallelismOf(edge.to)
    return { kind: equal ? 'forward' : 'rebalance' }
  }

  isForward(edge: EdgeDraft): boolean {
    return this.partitioningOf(edge).kind === 'forward'
  }

  /** Whether watermarks reach the node or start in it. */
  hasEventTime(node: NodeDraft, memo: Map<NodeDraft, boolean> = new Map()): boolean {
    const known = memo.get(node)
    if (known !== undefined) return known
    const inputs = this.edgesInto(node).filter(({ order }) => order !== 'first')
    const answer =
      node.spec.makesWatermarks === true ||
      (inputs.length > 0 && inputs.every((edge) => this.hasEventTime(edge.node, memo)))
    memo.set(node, answer)
    return answer
  }
}

/** The serializer of an output's records. */
export function serializerOf({ node, tag }: StreamOrigin): Serializer<unknown> {
  return tag?.serializer ?? node.serializer
}

/** The operators whose outputs a stream has, for messages. */
export function labelOf(origins: readonly StreamOrigin[]): string {
  return origins.map(({ node }) => node.name).join(' and ')
}

/** The serializer of a stream's records when all origins have the same one, else MessagePack. */
export function commonSerializer(origins: readonly StreamOrigin[]): Serializer<unknown> {
  const serializers = origins.map(serializerOf)
  const first = serializers[0] as Serializer<unknown> | undefined
  return first !== undefined && serializers.every((each) => each === first)
    ? first
    : msgpackSerializer()
}

/** The key of a stream's records. */
export interface Keying<K, T> {
  readonly selector: (value: T) => K
  /** Gives the canonical bytes of a key. */
  readonly serializer: Serializer<K>
  /** Whether the records are partitioned by this key already. @default false */
  readonly inPlace?: boolean
}

/** The same outputs, partitioned by key. */
export function hashed<K, T>(
  origins: readonly StreamOrigin[],
  { selector, serializer, inPlace = false }: Keying<K, T>,
): StreamOrigin[] {
  const partitioning: Partitioning = {
    kind: 'hash',
    keySelector: selector as (value: unknown) => unknown,
    keySerializer: serializer as Serializer<unknown>,
    inPlace,
  }
  return origins.map((origin) => ({ ...origin, partitioning }))
}
