import { createHash } from 'node:crypto'
import type { StreamNode } from '../../dataflow/stream-graph.ts'
import type { JobPlan, PlannedChain } from '../../runtime/subtask/job-plan.ts'
import type { OperatorSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'

/** The vertices of a job: its chains of operators. */
export function verticesOf({ chains }: JobPlan): readonly VertexSnapshot[] {
  return chains.map(vertexOf)
}

/** Id of a vertex, which stays the same as long as the operator at its head keeps its uid. */
function vertexId({ uid }: Pick<StreamNode, 'uid'>): string {
  return createHash('md5').update(uid).digest('hex')
}

function vertexOf({ chain, inputs }: PlannedChain): VertexSnapshot {
  const { head, members } = chain
  return {
    id: vertexId(head),
    uid: head.uid,
    name: members.map(titleOf).join(' -> '),
    parallelism: chain.parallelism,
    hasOwnParallelism: members.every((node) => node.hasOwnParallelism),
    maxParallelism: head.maxParallelism,
    isSource: head.body.kind === 'source',
    operators: members.map(
      (node): OperatorSnapshot => ({
        uid: node.uid,
        name: titleOf(node),
        hasOutput: chain.outEdges.some(({ from }) => from === node.id),
      }),
    ),
    inputs: inputs.map(({ edge, from }) => ({
      from: vertexId(from.head),
      partitioning: edge.partitioning.kind,
    })),
  }
}

/** As Flink writes names: sources and sinks say so. */
function titleOf({ body, isSink, name }: StreamNode): string {
  if (body.kind === 'source') return `Source: ${name}`
  return isSink ? `Sink: ${name}` : name
}
