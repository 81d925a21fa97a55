import type { StreamEdge, StreamGraph, StreamNode } from '../stream-graph.ts'

/** Operators that call each other directly within a subtask. */
export interface Chain {
  /** Id of the chain, which is the id of its head node. */
  readonly id: number
  /** A source, or the operator that reads channels. */
  readonly head: StreamNode
  /** All operators, head first, in topological order. They form a tree. */
  readonly members: readonly StreamNode[]
  readonly parallelism: number
  /** Direct calls between members. */
  readonly innerEdges: readonly StreamEdge[]
  /** Channels into the head. */
  readonly inEdges: readonly StreamEdge[]
  /** Channels out of any member. */
  readonly outEdges: readonly StreamEdge[]
}

/** A graph as chains, in topological order of their heads. */
export interface ChainGraph {
  readonly chains: readonly Chain[]
  /** The chain of each node, by node id. */
  readonly chainOf: ReadonlyMap<number, Chain>
}

/**
 * Divides a graph into chains. A node joins the chain of its input when the node is chainable, has only this
 * edge, and the edge is forward and of equal parallelism. Otherwise it is the head of a new chain.
 */
export function chainGraph(graph: StreamGraph): ChainGraph {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]))
  const headOf = new Map<number, number>()
  for (const node of graph.nodes) {
    const edge = chainedEdge(graph, nodes, node)
    headOf.set(node.id, edge === undefined ? node.id : headOf.get(edge.from)!)
  }
  const chains = graph.nodes
    .filter((node) => headOf.get(node.id) === node.id)
    .map((head) => buildChain(graph, head, headOf))
  const byId = new Map(chains.map((chain) => [chain.id, chain]))
  const chainOf = new Map(graph.nodes.map((node) => [node.id, byId.get(headOf.get(node.id)!)!]))
  return { chains, chainOf }
}

function chainedEdge(
  graph: StreamGraph,
  nodes: ReadonlyMap<number, StreamNode>,
  node: StreamNode,
): StreamEdge | undefined {
  const [edge, ...others] = graph.edges.filter((candidate) => candidate.to === node.id)
  if (edge === undefined || others.length > 0 || !node.chainable) return undefined
  if (edge.partitioning.kind !== 'forward') return undefined
  return nodes.get(edge.from)!.parallelism === node.parallelism ? edge : undefined
}

function buildChain(
  graph: StreamGraph,
  head: StreamNode,
  headOf: ReadonlyMap<number, number>,
): Chain {
  const inside = (id: number): boolean => headOf.get(id) === head.id
  // An edge into the head uses a channel, even from a member of the same chain.
  const inner = (edge: StreamEdge): boolean =>
    inside(edge.from) && inside(edge.to) && edge.to !== head.id
  return {
    id: head.id,
    head,
    members: graph.nodes.filter((node) => inside(node.id)),
    parallelism: head.parallelism,
    innerEdges: graph.edges.filter(inner),
    inEdges: graph.edges.filter((edge) => edge.to === head.id),
    outEdges: graph.edges.filter((edge) => inside(edge.from) && !inner(edge)),
  }
}
