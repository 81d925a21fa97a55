import type { Partitioning, StreamGraph } from '../stream-graph.ts'

/**
 * 32 hexadecimal digits that are equal when two builds of a job have the same graph: operators, their
 * parallelism and their edges. The code of user functions is not part of it.
 */
export function graphFingerprint(graph: StreamGraph): string {
  const uidOf = new Map(graph.nodes.map((node) => [node.id, node.uid]))
  const description = {
    jobName: graph.jobName,
    nodes: graph.nodes.map((node) => [
      node.uid,
      node.name,
      node.parallelism,
      node.maxParallelism,
      node.inputs,
      node.chainable,
      node.isSink,
      node.body.kind,
    ]),
    edges: graph.edges.map((edge) => [
      uidOf.get(edge.from),
      uidOf.get(edge.to),
      edge.input,
      edge.sideOutputTag ?? null,
      describePartitioning(edge.partitioning),
      edge.serializer.id,
    ]),
  }
  // Without an import of it, which also loads what a thread never uses, such as Web Crypto.
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update(JSON.stringify(description)).digest('hex').slice(0, 32)
}

function describePartitioning(partitioning: Partitioning): string {
  if (partitioning.kind !== 'hash') return partitioning.kind
  const { keySerializer, inPlace } = partitioning
  return `${inPlace ? 'hash in place' : 'hash'} ${keySerializer.id}`
}
