import type { StreamGraph } from '../stream-graph.ts'

/** An operator that has its table before the records of its stream. */
export interface WaitingOperator {
  readonly uid: string
  readonly name: string
  readonly parallelism: number
  /** Uids of the sources of its stream, which are not read before. */
  readonly held: readonly string[]
}

/** The operators of a graph that wait for tables. */
export function waitingOperators({ nodes, edges }: StreamGraph): readonly WaitingOperator[] {
  return nodes.flatMap(({ id, uid, name, parallelism }) => {
    const into = edges.filter(({ to }) => to === id)
    if (into.every(({ loadsFirst }) => loadsFirst !== true)) return []
    const streams = into.filter(({ loadsFirst }) => loadsFirst !== true)
    const behind = new Set(streams.map(({ from }) => from))
    // Nodes are in topological order: from the last one, each is reached after those that it feeds.
    for (const node of nodes.toReversed()) {
      if (!behind.has(node.id)) continue
      for (const { from, to } of edges) if (to === node.id) behind.add(from)
    }
    const held = nodes.filter((node) => node.body.kind === 'source' && behind.has(node.id))
    return [{ uid, name, parallelism, held: held.map((node) => node.uid) }]
  })
}
