import type { SourcePosition } from '../../core/position.ts'
import { type Chain, chainGraph } from '../../dataflow/plan/chain-graph.ts'
import { waitingOperators } from '../../dataflow/plan/table-order.ts'
import type { StreamEdge, StreamGraph, StreamNode } from '../../dataflow/stream-graph.ts'
import type { TrackedSource } from '../../state/catalog/tracked-source.ts'
import type { FailedRecord } from '../protocol/slot-messages.ts'

/** An edge between two chains and the numbers of its channels. */
export interface PlannedEdge {
  /** A name that stays the same while the job's operators keep their uids. */
  readonly name: string
  readonly edge: StreamEdge
  readonly from: Chain
  readonly to: Chain
  /** Every sender has one channel, to the subtask with its own number. */
  readonly pointwise: boolean
  /** Whether barriers of unaligned checkpoints overtake its records. */
  readonly overtakes: boolean
  /** Channel from subtask i to subtask j is `firstChannel + i * to.parallelism + j`. */
  readonly firstChannel: number
  /** Channels of an earlier edge into the same chain, so that `channelIndex` is dense there. */
  readonly firstIndex: number
  /** Whether the progress of a source partition comes from one sender, not from all. */
  readonly singleCarrier: boolean
  /** Numbers of the sources whose records it carries. */
  readonly sources: readonly number[]
}

/** One chain with its channels. */
export interface PlannedChain {
  readonly chain: Chain
  readonly inputs: readonly PlannedEdge[]
  readonly outputs: readonly PlannedEdge[]
  /** Numbers of the sources whose records reach it. */
  readonly sources: readonly number[]
  /** Whether an operator of the job waits until sources have sent what they had at the start. */
  readonly reportsLoads: boolean
  /** Whether it is a source that is not read before tables are loaded. */
  readonly waitsForTables: boolean
}

/** A job as the slots run it: the same in every thread, because it depends on the graph alone. */
export interface JobPlan {
  readonly jobName: string
  readonly chains: readonly PlannedChain[]
  /** The sources, by number. */
  readonly sources: readonly TrackedSource[]
  /** Number of channels; they are numbered 0 <= channel < channels. */
  readonly channels: number
  /** Slots that the job needs: its largest parallelism. */
  readonly slots: number
}

/** The record at a position; undefined for none. */
export function recordAt(
  { sources }: Pick<JobPlan, 'sources'>,
  { source = 0, partition, offset }: SourcePosition,
): FailedRecord | undefined {
  if (partition < 0) return undefined
  const { uid = '', topic } = sources[source] ?? {}
  return { source: uid, topic, partition, offset }
}

/** Whether any input of the node is partitioned by key, so that it has keyed state. */
export function isKeyed(node: StreamNode, inEdges: readonly StreamEdge[]): boolean {
  return inEdges.some((edge) => edge.to === node.id && edge.partitioning.kind === 'hash')
}

/** Slots with keyed state behind a source: those from 0 on, and none for a source whose records reach no such state. */
export function slotsBehind({ chains }: Pick<JobPlan, 'chains'>, source: number): number {
  const behind = chains.filter(
    ({ chain, sources }) =>
      sources.includes(source) && chain.members.some((node) => isKeyed(node, chain.inEdges)),
  )
  return Math.max(0, ...behind.map(({ chain }) => chain.parallelism))
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
function senderCount(planned: PlannedEdge): number {
  return planned.pointwise ? 1 : planned.from.parallelism
}

/** Number of the channel between two subtasks of an edge. */
export function channelId(planned: PlannedEdge, from: number, to: number): number {
  return planned.firstChannel + from * planned.to.parallelism + to
}

/** Plans the chains and channels of a job. */
export function planJob(graph: StreamGraph): JobPlan {
  const { chains, chainOf } = chainGraph(graph)
  const edges: PlannedEdge[] = []
  const heads = chains.filter((chain) => chain.head.body.kind === 'source')
  const sourcesOf = (chain: Chain): readonly number[] => {
    const behind = edges.filter(({ to }) => to === chain).flatMap(({ sources }) => sources)
    const own = heads.indexOf(chain)
    return [...new Set(own < 0 ? behind : [own])]
  }
  let channels = 0
  for (const chain of chains) {
    let index = 0
    for (const edge of chain.inEdges) {
      const planned = planEdge(edge, {
        from: chainOf.get(edge.from)!,
        to: chain,
        earlier: edges,
        sources: sourcesOf(chainOf.get(edge.from)!),
        overtakes: chain.inEdges.every((input) =>
          mayBeOvertaken(input, chainOf.get(input.from)!, chain),
        ),
        firstChannel: channels,
        firstIndex: index,
      })
      const { from } = planned
      channels += from.parallelism * chain.parallelism
      index += senderCount(planned)
      edges.push(planned)
    }
  }
  const waiting = waitingOperators(graph)
  const held = new Set(waiting.flatMap(({ held }) => held))
  const planned = chains.map((chain) => ({
    chain,
    inputs: edges.filter(({ to }) => to === chain),
    outputs: edges.filter(({ from }) => from === chain),
    sources: sourcesOf(chain),
    reportsLoads: waiting.length > 0,
    waitsForTables: held.has(chain.head.uid),
  }))
  return {
    jobName: graph.jobName,
    chains: planned,
    sources: heads.map((head, source) => trackedSource(planned, heads, source, head)),
    channels,
    slots: Math.max(...chains.map((chain) => chain.parallelism)),
  }
}

function trackedSource(
  chains: readonly PlannedChain[],
  heads: readonly Chain[],
  source: number,
  { head }: Chain,
): TrackedSource {
  const tracked = slotsBehind({ chains }, source) > 0
  const body = head.body.kind === 'source' ? head.body : undefined
  const topic = body?.source.topic
  const known = { uid: head.uid, tracked, ...(topic === undefined ? {} : { topic }) }
  const through = body?.returnsThrough
  if (through === undefined) return known
  if (through === 'checkpoints') return { ...known, returnsThrough: 'checkpoints' }
  const returnsThrough = heads.findIndex((other) => other.head.uid === through.source)
  return { ...known, returnsThrough }
}

function staysInSubtask({ partitioning }: StreamEdge): boolean {
  return partitioning.kind === 'forward' || (partitioning.kind === 'hash' && partitioning.inPlace)
}

/**
 * Whether the records of an edge can be given to other subtasks when the parallelism changes: those of a broadcast
 * and those that stay in a subtask without a key cannot, so the chain behind them aligns its barriers, as in Flink.
 */
function mayBeOvertaken(edge: StreamEdge, from: Chain, to: Chain): boolean {
  switch (edge.partitioning.kind) {
    case 'broadcast':
    case 'rescale':
      return false
    case 'forward':
      return from.parallelism !== to.parallelism
    default:
      return true
  }
}

interface EdgeContext {
  readonly from: Chain
  readonly to: Chain
  readonly overtakes: boolean
  readonly earlier: readonly PlannedEdge[]
  readonly sources: readonly number[]
  readonly firstChannel: number
  readonly firstIndex: number
}

function planEdge(edge: StreamEdge, context: EdgeContext): PlannedEdge {
  const { from, to } = context
  const into = context.earlier.filter((planned) => planned.to === from)
  const sender = from.members.find(({ id }) => id === edge.from)!
  return {
    name: JSON.stringify([sender.uid, edge.input, edge.sideOutputTag ?? null]),
    edge,
    from,
    to,
    pointwise: staysInSubtask(edge) && from.parallelism === to.parallelism,
    overtakes: context.overtakes,
    firstChannel: context.firstChannel,
    firstIndex: context.firstIndex,
    singleCarrier:
      from.head.body.kind === 'source' ||
      into.every((planned) => planned.pointwise && planned.singleCarrier),
    sources: context.sources,
  }
}
