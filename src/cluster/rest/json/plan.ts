import type { EdgeSnapshot, JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'

const SHIP_STRATEGIES: Readonly<Record<EdgeSnapshot['partitioning'], string>> = {
  forward: 'FORWARD',
  hash: 'HASH',
  rebalance: 'REBALANCE',
  rescale: 'RESCALE',
  shuffle: 'SHUFFLE',
  global: 'GLOBAL',
  custom: 'CUSTOM',
  broadcast: 'BROADCAST',
}

/** `plan` of Flink's job detail: the graph of vertices. */
export function planJson(job: JobSnapshot): object {
  return { jid: job.id, name: job.name, type: 'STREAMING', nodes: job.vertices.map(nodeJson) }
}

function nodeJson(vertex: VertexSnapshot): object {
  const inputs = vertex.inputs.map(({ from, partitioning }, num) => ({
    num,
    id: from,
    ship_strategy: SHIP_STRATEGIES[partitioning],
    exchange: 'pipelined_bounded',
  }))
  return {
    id: vertex.id,
    parallelism: vertex.parallelism,
    operator: '',
    operator_strategy: '',
    description: descriptionOf(vertex),
    ...(inputs.length === 0 ? {} : { inputs }),
    optimizer_properties: {},
  }
}

/** The operators of a chain, one a line, as HTML: the form that Flink's dashboard expects. */
function descriptionOf({ operators }: VertexSnapshot): string {
  return operators.map(({ name }, i) => `${i === 0 ? '' : '+- '}${escapeHtml(name)}<br/>`).join('')
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
