import { murmur3 } from '../core/hash/murmur3.ts'
import { defaultMaxParallelism } from '../core/key-group.ts'
import { SinkOperator } from '../operators/basic/sink.ts'
import {
  DEAD_LETTERS,
  DEAD_LETTERS_UID,
  type EdgeDraft,
  type GraphDraft,
  type NodeDraft,
  serializerOf,
} from './graph-draft.ts'
import type { Partitioning, StreamEdge, StreamGraph, StreamNode } from './stream-graph.ts'

const encoder = new TextEncoder()

/** Builds the graph that the runtime gets from a valid draft. */
export function buildGraph(draft: GraphDraft, jobName: string): StreamGraph {
  const uids = assignUids(draft)
  const nodes = draft.nodes.map((node) => buildNode(draft, node, { jobName, uid: uids.get(node)! }))
  const edges = draft.edges.map((edge) => buildEdge(draft, edge))
  return withDeadLetters(draft, { jobName, nodes, edges })
}

/** The graph with the sink of the dead letters of the job, if it has one. */
function withDeadLetters(draft: GraphDraft, graph: StreamGraph): StreamGraph {
  const { onError } = draft
  const failing = graph.nodes.filter((node) => node.onError === DEAD_LETTERS)
  if (typeof onError !== 'object' || failing.length === 0) return graph
  const sink: StreamNode = {
    id: graph.nodes.length,
    uid: DEAD_LETTERS_UID,
    uidGenerated: false,
    name: 'Dead letters',
    parallelism: draft.defaultParallelism,
    hasOwnParallelism: false,
    maxParallelism: draft.defaultMaxParallelism ?? defaultMaxParallelism(draft.defaultParallelism),
    body: { kind: 'operator', create: () => new SinkOperator(onError.deadLetters, graph.jobName) },
    inputs: 1,
    chainable: true,
    isSink: true,
  }
  const edges = failing.map(({ id, parallelism }): StreamEdge => {
    const kind = parallelism === sink.parallelism ? 'forward' : 'rebalance'
    const to = { to: sink.id, input: 0, sideOutputTag: DEAD_LETTERS.id }
    return { from: id, ...to, partitioning: { kind }, serializer: DEAD_LETTERS.serializer }
  })
  return { ...graph, nodes: [...graph.nodes, sink], edges: [...graph.edges, ...edges] }
}

function buildNode(
  draft: GraphDraft,
  node: NodeDraft,
  { jobName, uid }: { readonly jobName: string; readonly uid: string },
): StreamNode {
  const onError = draft.onErrorOf(node)
  return {
    id: node.id,
    uid,
    uidGenerated: node.uid === undefined,
    ...(node.isPart ? { isPart: true } : {}),
    name: node.name,
    parallelism: draft.parallelismOf(node),
    hasOwnParallelism: node.parallelism !== undefined,
    maxParallelism: draft.maxParallelismOf(node),
    body: node.spec.body({ jobName, eventTime: draft.hasEventTime(node) }),
    inputs: node.spec.inputs,
    chainable: node.chainable,
    isSink: node.spec.isSink ?? false,
    ...(node.spec.isStore === true ? { isStore: true } : {}),
    ...(node.spec.model === undefined ? {} : { model: node.spec.model }),
    ...(onError === undefined ? {} : { onError, isOnErrorOfJob: draft.obeysJob(node) }),
  }
}

function buildEdge(draft: GraphDraft, edge: EdgeDraft): StreamEdge {
  const given = draft.partitioningOf(edge)
  // Where a record at which the function throws is left out, each one must come alone.
  const partitioning = draft.onErrorOf(edge.to) === undefined ? given : withoutFold(given)
  const fold = partitioning.kind === 'hash' ? partitioning.fold : undefined
  return {
    from: edge.node.id,
    to: edge.to.id,
    input: edge.input,
    sideOutputTag: edge.tag?.id,
    partitioning,
    ...(edge.order === 'first' ? { loadsFirst: true } : {}),
    serializer: fold?.serializer ?? serializerOf(edge),
  }
}

function withoutFold(partitioning: Partitioning): Partitioning {
  if (partitioning.kind !== 'hash') return partitioning
  const { fold: _, ...unfolded } = partitioning
  return unfolded
}

/**
 * The uid of every node: the user's, else one from its name, the uids of its inputs, and its number among the
 * nodes with the same name and inputs. A change elsewhere in the graph does not change it.
 */
function assignUids(draft: GraphDraft): Map<NodeDraft, string> {
  const uids = new Map<NodeDraft, string>()
  const taken = new Set(draft.nodes.flatMap((node) => node.uid ?? []))
  for (const node of draft.nodes) {
    const uid = node.uid ?? generateUid(draft, node, { uids, taken })
    taken.add(uid)
    uids.set(node, uid)
  }
  return uids
}

interface GivenUids {
  /** Uids of the nodes before this one. */
  readonly uids: ReadonlyMap<NodeDraft, string>
  /** Uids that cannot be given again. */
  readonly taken: ReadonlySet<string>
}

function generateUid(draft: GraphDraft, node: NodeDraft, { uids, taken }: GivenUids): string {
  const inputs = draft
    .edgesInto(node)
    .map((edge) => `${edge.input}:${uids.get(edge.node)}:${edge.tag?.id ?? ''}`)
  for (let number = 0; ; number++) {
    const position = JSON.stringify([node.name, inputs, number])
    const hash = murmur3(encoder.encode(position)).toString(16).padStart(8, '0')
    const uid = `${slugOf(node.name)}-${hash}`
    if (!taken.has(uid)) return uid
  }
}

function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  return slug === '' ? 'operator' : slug.slice(0, 48)
}
