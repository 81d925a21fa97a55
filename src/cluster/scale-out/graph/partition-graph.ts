import type { Serializer } from '../../../core/serializer.ts'
import type {
  Partitioning,
  StreamEdge,
  StreamGraph,
  StreamNode,
} from '../../../dataflow/stream-graph.ts'
import { noWatermarks } from '../../../dataflow/watermark-strategy.ts'
import type { Sink } from '../../../operators/port/sink.ts'
import type { Source } from '../../../operators/port/source.ts'
import { ExchangeReceiver, type ExchangeRecord } from './exchange-receiver.ts'
import { type ExchangeMessage, ExchangeSender } from './exchange-sender.ts'
import type { JobPartition } from './job-partition.ts'
import { PartitionSource } from './partition-source.ts'

/** An edge whose records go to other job partitions, through a topic. */
export interface Exchange {
  /** The part of the topic's name that is the job's: `<uid of the receiver>`, and a number where it has several. */
  readonly name: string
  readonly edge: StreamEdge
  /** The rule by which a record goes to a job partition. */
  readonly partitioning: Partitioning
  readonly serializer: Serializer<unknown>
  /** Max parallelism of the receiver. */
  readonly maxParallelism: number
  /** Whether the records have keys, which must be those of the partition. */
  readonly isKeyed: boolean
}

/** The topics that carry exchanges. */
export interface ExchangeTopics {
  sinkOf(exchange: Exchange): Sink<ExchangeMessage>
  sourceOf(exchange: Exchange): Source<ExchangeRecord>
}

/** The exchanges of a job of so many partitions, in the order of the graph. */
export function exchangesOf(graph: StreamGraph, partitions: number): Exchange[] {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]))
  const crossing = graph.edges.filter((edge) => crosses(edge, nodes, partitions))
  return crossing.map((edge): Exchange => {
    const to = nodes.get(edge.to)!
    const ofReceiver = crossing.filter((other) => other.to === edge.to)
    const number = ofReceiver.indexOf(edge)
    // An operator of parallelism 1 is in partition 0, whatever the rule of the edge.
    const partitioning: Partitioning = to.parallelism === 1 ? { kind: 'global' } : edge.partitioning
    return {
      name: ofReceiver.length === 1 ? to.uid : `${to.uid}-${number}`,
      ...{ edge, partitioning },
      serializer: edge.serializer,
      maxParallelism: to.maxParallelism,
      isKeyed: partitioning.kind === 'hash',
    }
  })
}

/**
 * The part of a job that one job partition runs, as a graph of its own with parallelism 1: it reads its splits of
 * the sources, and each edge that goes to other partitions ends in a topic and begins again behind it. An operator
 * of parallelism 1 is in partition 0 alone. The job must be divisible (`requireDivisible`).
 */
export function partitionGraph(
  graph: StreamGraph,
  part: JobPartition,
  topics: ExchangeTopics,
): StreamGraph {
  const exchanges = exchangesOf(graph, part.partitions)
  const isHere = (node: StreamNode): boolean => node.parallelism !== 1 || part.partition === 0
  const builder = new PartBuilder(graph, part, topics)
  for (const node of graph.nodes) {
    const into = exchanges.filter(({ edge }) => edge.to === node.id)
    if (isHere(node)) {
      for (const exchange of into) builder.receive(exchange)
      builder.add(node)
    }
    const outOf = exchanges.filter(({ edge }) => edge.from === node.id)
    if (isHere(node)) for (const exchange of outOf) builder.send(exchange)
  }
  const crossing = new Set(exchanges.map(({ edge }) => edge))
  const here = new Set(graph.nodes.filter(isHere).map(({ id }) => id))
  for (const edge of graph.edges) {
    if (!crossing.has(edge) && here.has(edge.from) && here.has(edge.to)) builder.connect(edge)
  }
  return builder.build()
}

/** Builds the graph of one job partition, node by node. */
class PartBuilder {
  private readonly graph: StreamGraph
  private readonly part: JobPartition
  private readonly topics: ExchangeTopics
  private readonly nodes: StreamNode[] = []
  private readonly edges: StreamEdge[] = []
  private nextId: number

  constructor(graph: StreamGraph, part: JobPartition, topics: ExchangeTopics) {
    this.graph = graph
    this.part = part
    this.topics = topics
    this.nextId = Math.max(...graph.nodes.map(({ id }) => id)) + 1
  }

  /** Adds a node of the job. */
  add(node: StreamNode): void {
    const { body } = node
    const own =
      body.kind === 'source' && node.parallelism !== 1
        ? { ...body, source: new PartitionSource(body.source, this.part) }
        : body
    this.nodes.push({ ...node, parallelism: 1, body: own })
  }

  /** Adds an edge that stays within the partition. */
  connect(edge: StreamEdge): void {
    const { partitioning } = edge
    const inside: Partitioning = partitioning.kind === 'hash' ? partitioning : { kind: 'forward' }
    this.edges.push({ ...edge, partitioning: inside })
  }

  /** Adds the sender of an exchange behind its operator. */
  send(exchange: Exchange): void {
    const { edge, name, maxParallelism, serializer, partitioning } = exchange
    const { partition, partitions } = this.part
    const sender = this.operator(`${name}-sender`, `To ${name}`, true, () => {
      const { jobName } = this.graph
      const sink = this.topics.sinkOf(exchange)
      return new ExchangeSender({
        sink,
        jobName,
        partitioning,
        partitions,
        maxParallelism,
        partition,
      })
    })
    this.edges.push({
      from: edge.from,
      to: sender.id,
      input: 0,
      sideOutputTag: edge.sideOutputTag,
      partitioning: { kind: 'forward' },
      serializer,
    })
  }

  /** Adds the source and the receiver of an exchange in front of its operator. */
  receive(exchange: Exchange): void {
    const { edge, name, serializer } = exchange
    const source: StreamNode = {
      ...this.node(`${name}-exchange`, `Exchange ${name}`),
      body: {
        kind: 'source',
        source: new PartitionSource(this.topics.sourceOf(exchange), this.part),
        watermarks: noWatermarks(),
      },
      inputs: 0,
      isSink: false,
    }
    this.nodes.push(source)
    const receiver = this.operator(
      `${name}-receiver`,
      `From ${name}`,
      false,
      () => new ExchangeReceiver(this.part.partitions),
    )
    const forward = { input: 0, sideOutputTag: undefined, serializer }
    this.edges.push({
      ...forward,
      from: source.id,
      to: receiver.id,
      partitioning: { kind: 'forward' },
    })
    const { partitioning } = edge
    this.edges.push({
      ...edge,
      from: receiver.id,
      sideOutputTag: undefined,
      partitioning: partitioning.kind === 'hash' ? inPlace(partitioning) : { kind: 'forward' },
    })
  }

  build(): StreamGraph {
    return { ...this.graph, nodes: this.nodes, edges: this.edges }
  }

  private operator(
    uid: string,
    name: string,
    isSink: boolean,
    create: Extract<StreamNode['body'], { kind: 'operator' }>['create'],
  ): StreamNode {
    const node: StreamNode = {
      ...this.node(uid, name),
      body: { kind: 'operator', create },
      inputs: 1,
      isSink,
    }
    this.nodes.push(node)
    return node
  }

  private node(uid: string, name: string) {
    const id = this.nextId++
    const { maxParallelism } = this.graph.nodes[0]!
    return {
      ...{ id, uid, name, maxParallelism, parallelism: 1 },
      ...{ uidGenerated: true, isPart: true, hasOwnParallelism: false, chainable: true },
    }
  }
}

function inPlace(partitioning: Extract<Partitioning, { readonly kind: 'hash' }>): Partitioning {
  const { fold: _, ...unfolded } = partitioning
  return { ...unfolded, inPlace: true }
}

/** Whether the records of an edge go to other job partitions than the one that has them. */
function crosses(
  { from, to, partitioning }: StreamEdge,
  nodes: ReadonlyMap<number, StreamNode>,
  partitions: number,
): boolean {
  if (partitions === 1) return false
  const [sender, receiver] = [nodes.get(from)!.parallelism, nodes.get(to)!.parallelism]
  if (sender === 1 && receiver === 1) return false
  if (sender !== receiver) return true
  switch (partitioning.kind) {
    case 'hash':
      return !partitioning.inPlace
    case 'broadcast':
    case 'custom':
    case 'global':
      return true
    default:
      // Any partition may have them.
      return false
  }
}
