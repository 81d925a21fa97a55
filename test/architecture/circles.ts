/** What each node points to. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** The graph with these edges, without those from a node to itself. */
export function graphOf(edges: Iterable<readonly [from: string, to: string]>): Graph {
  const graph = new Map<string, Set<string>>()
  for (const [from, to] of edges) {
    if (from === to) continue
    const targets = graph.get(from) ?? new Set()
    graph.set(from, targets.add(to))
  }
  return graph
}

/**
 * The groups of nodes that reach each other, each sorted: the strongly connected components of more than
 * one node (R. Tarjan, "Depth-first search and linear graph algorithms", 1972).
 */
export function circlesOf(graph: Graph): readonly (readonly string[])[] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const circles: string[][] = []

  function visit(node: string): number {
    order.set(node, order.size)
    lowest.set(node, order.get(node)!)
    open.push(node)
    for (const target of graph.get(node) ?? []) {
      const reached = !order.has(target)
        ? visit(target)
        : open.includes(target)
          ? order.get(target)!
          : Number.POSITIVE_INFINITY
      lowest.set(node, Math.min(lowest.get(node)!, reached))
    }
    if (lowest.get(node) === order.get(node)) {
      const circle = open.splice(open.indexOf(node))
      if (circle.length > 1) circles.push(circle.sort())
    }
    return lowest.get(node)!
  }

  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return circles
}
