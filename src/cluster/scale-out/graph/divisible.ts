import { KafkaSource } from '../../../connectors/kafka/source.ts'
import { WeirError } from '../../../core/errors.ts'
import type { StreamGraph, StreamNode } from '../../../dataflow/stream-graph.ts'
import { exchangesOf } from './partition-graph.ts'

/**
 * Checks that a job can be divided into partitions: what the parts of a job do alone must be what the whole would do.
 * Throws UNSUPPORTED with the operator and the reason.
 */
export function requireDivisible(graph: StreamGraph, partitions: number): void {
  for (const node of graph.nodes) {
    const problem = problemOf(node, partitions)
    if (problem !== undefined) throw unsupported(`operator "${node.name}" (${node.uid}) ${problem}`)
  }
  if (graph.nodes.every(({ parallelism }) => parallelism !== partitions)) {
    throw unsupported(
      `each operator has parallelism 1, so there is nothing to divide into ${partitions} job partitions: remove setParallelism(1), or run the job without --scale-out`,
    )
  }
  const waits = graph.edges.find(({ loadsFirst }) => loadsFirst === true)
  if (waits === undefined || exchangesOf(graph, partitions).length === 0) return
  const { name, uid } = graph.nodes.find(({ id }) => id === waits.to)!
  throw unsupported(
    `operator "${name}" (${uid}) waits until a table is loaded, and with --scale-out its rows come through an exchange topic, whose end says nothing of the table's; join with wait: 'event-time', or run the job without --scale-out`,
  )
}

function problemOf(
  { parallelism, body, model }: StreamNode,
  partitions: number,
): string | undefined {
  if (parallelism !== 1 && parallelism !== partitions) {
    return `has parallelism ${parallelism}: with --scale-out an operator runs in each of the ${partitions} job partitions, or with setParallelism(1) in one; remove its setParallelism`
  }
  if (model !== undefined) {
    return `asks model "${model}": with --scale-out no process of the job serves models; run the job without it`
  }
  if (body.kind !== 'source') return undefined
  const { source } = body
  if (source.boundedness === 'bounded') {
    return 'ends: with --scale-out a job reads topics without an end; run it without --scale-out'
  }
  if (source.topic !== undefined && !(source instanceof KafkaSource)) {
    return `reads topic "${source.topic}" of the embedded log, which belongs to one machine: with --scale-out use a KafkaSource`
  }
  return undefined
}

function unsupported(message: string): WeirError {
  return new WeirError('UNSUPPORTED', message)
}

/** What a job in many processes does not do, in sentences for its log. */
export function missingParts({ nodes }: StreamGraph): string[] {
  return nodes
    .filter(({ isStore }) => isStore === true)
    .map(
      ({ name, uid }) =>
        `operator "${name}" (${uid}) keeps queryable state, which no one can query with --scale-out`,
    )
}
