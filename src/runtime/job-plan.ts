import { type Chain, chainGraph } from '../dataflow/chain-graph.ts'
import type { StreamEdge, StreamGraph, StreamNode } from '../dataflow/stream-graph.ts'

/** An edge between two chains and the numbers of its channels. */
export interface PlannedEdge {
  readonly edge: StreamEdge
  readonly from: Chain
  readonly to: Chain
  /** Every sender has one channel, to the subtask of its own number. */
  readonly pointwise: boolean
  /** Channel from subtask i to subtask j is `firstChannel + i * to.parallelism + j`. */
  readonly firstChannel: number
  /** Channels of an earlier edge into the same chain, so that `channelIndex` is dense there. */
  readonly firstIndex: number
  /** A source partition's progress comes from one sender, not from all of them. */
  readonly singleCarrier: boolean
  /** Whether records of the job's first source come over it. */
  readonly behindFirstSource: boolean
}

/** One chain with its channels. */
export interface PlannedChain {
  readonly chain: Chain
  readonly inputs: readonly PlannedEdge[]
  readonly outputs: readonly PlannedEdge[]
  /** Whether records of the job's first source reach it. */
  readonly behindFirstSource: boolean
}

/** A job as the slots run it: the same in every thread, for it follows from the graph alone. */
export interface JobPlan {
  readonly jobName: string
  readonly chains: readonly PlannedChain[]
  /** Channels in all, numbered 0 <= channel < channels. */
  readonly channels: number
  /** Slots that the job needs: its largest parallelism. */
  readonly slots: number
}

/** Whether any input of the node is partitioned by key, so that it has keyed state. */
export function isKeyed(node: StreamNode, inEdges: readonly StreamEdge[]): boolean {
  return inEdges.some((edge) => edge.to === node.id && edge.partitioning.kind === 'hash')
}

/** Name of a chain's subtask in messages and acknowledgements, `<head uid>#<subtask>`. */
export function taskName(chain: Chain, subtask: number): string {
  return `${chain.head.uid}#${subtask}`
}

/** Every task of the job. */
export function taskNames(plan: JobPlan): string[] {
  return plan.chains.flatMap(({ chain }) =>
    Array.from({ length: chain.parallelism }, (_, subtask) => taskName(chain, subtask)),
  )
}

/** Senders of an edge's channels into one subtask. */
export function senderCount(planned: PlannedEdge): number {
  return planned.pointwise ? 1 : planned.from.parallelism
}

/** Number of the channel between two subtasks of an edge. */
export function channelId(planned: PlannedEdge, from: number, to: number): number {
  return planned.firstChannel + from * planned.to.parallelism + to
}

/** Works out chains and channels. */
export function planJob(graph: StreamGraph): JobPlan {
  const { chains, chainOf } = chainGraph(graph)
  const edges: PlannedEdge[] = []
  const firstSource = chains.find((chain) => chain.head.body.kind === 'source')
  let channels = 0
  for (const chain of chains) {
    let index = 0
    for (const edge of chain.inEdges) {
      const planned = planEdge(edge, chainOf.get(edge.from)!, chain, {
        earlier: edges,
        firstSource,
        firstChannel: channels,
        firstIndex: index,
      })
      const { from } = planned
      channels += from.parallelism * chain.parallelism
      index += senderCount(planned)
      edges.push(planned)
    }
  }
  return {
    jobName: graph.jobName,
    chains: chains.map((chain) => ({
      chain,
      inputs: edges.filter((planned) => planned.to === chain),
      outputs: edges.filter((planned) => planned.from === chain),
      behindFirstSource:
        chain === firstSource ||
        edges.some((planned) => planned.to === chain && planned.behindFirstSource),
    })),
    channels,
    slots: Math.max(...chains.map((chain) => chain.parallelism)),
  }
}

function staysInSubtask({ partitioning }: StreamEdge): boolean {
  return partitioning.kind === 'forward' || (partitioning.kind === 'hash' && partitioning.inPlace)
}

function planEdge(
  edge: StreamEdge,
  from: Chain,
  to: Chain,
  context: {
    readonly earlier: readonly PlannedEdge[]
    readonly firstSource: Chain | undefined
    readonly firstChannel: number
    readonly firstIndex: number
  },
): PlannedEdge {
  const into = context.earlier.filter((planned) => planned.to === from)
  return {
    edge,
    from,
    to,
    pointwise: staysInSubtask(edge) && from.parallelism === to.parallelism,
    firstChannel: context.firstChannel,
    firstIndex: context.firstIndex,
    singleCarrier:
      from.head.body.kind === 'source' ||
      into.every((planned) => planned.pointwise && planned.singleCarrier),
    behindFirstSource:
      from === context.firstSource || into.some((planned) => planned.behindFirstSource),
  }
}
