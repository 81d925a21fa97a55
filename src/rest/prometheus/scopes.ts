import type { Labels } from '../../prometheus/text-format.ts'
import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import {
  JOB_METRICS,
  OPERATOR_METRICS,
  QUERY_METRICS,
  type ScopeMetrics,
  SLOT_METRICS,
  TASK_METRICS,
} from './metric-names.ts'

/** Where a metric of a job belongs. */
export interface MetricPlace {
  /** Name of the metric within its scope. */
  readonly metric: string
  readonly scope: ScopeMetrics
  readonly labels: Labels
}

/** Finds for a full name (`<uid>.<subtask>.numRecordsIn`) the scope, its labels and the metric's name. */
export function placesOf({ vertices }: JobSnapshot): (name: string) => MetricPlace {
  // A uid may begin with another uid and a dot.
  const byLength = [...vertices].sort((a, b) => b.uid.length - a.uid.length)
  return (name) => {
    for (const vertex of byLength) {
      if (!name.startsWith(`${vertex.uid}.`)) continue
      const found = /^(\d+)\.(.+)$/.exec(name.slice(vertex.uid.length + 1))
      if (found !== null) return placeInVertex(vertex, found[1]!, found[2]!)
    }
    return placeOutsideVertices(name)
  }
}

function placeInVertex(vertex: VertexSnapshot, subtask: string, rest: string): MetricPlace {
  const task = { task: vertex.uid, subtask }
  const chained = vertex.operators.find(({ uid }) => rest.startsWith(`${uid}.`))
  if (chained !== undefined) {
    const metric = rest.slice(chained.uid.length + 1)
    return { metric, scope: OPERATOR_METRICS, labels: { ...task, operator: chained.uid } }
  }
  if (Object.hasOwn(TASK_METRICS, rest)) return { metric: rest, scope: TASK_METRICS, labels: task }
  return { metric: rest, scope: OPERATOR_METRICS, labels: { ...task, operator: vertex.uid } }
}

function placeOutsideVertices(name: string): MetricPlace {
  const found = /^(slot|query)\.(\w+)\.(.+)$/.exec(name)
  if (found === null) return { metric: name, scope: JOB_METRICS, labels: {} }
  const [, kind, number, metric] = found as unknown as [string, string, string, string]
  if (kind === 'slot') return { metric, scope: SLOT_METRICS, labels: { slot: number } }
  return queryPlace(metric, number)
}

/** The kind of a request and the code of an error are labels. */
function queryPlace(metric: string, thread: string): MetricPlace {
  const scope = QUERY_METRICS
  const [family, value] = metric.split('.') as [string, string | undefined]
  if (value !== undefined && family === 'numRequests') {
    return { metric: 'numRequests.KIND', scope, labels: { thread, kind: value } }
  }
  if (value !== undefined && family === 'numErrors') {
    return { metric: 'numErrors.CODE', scope, labels: { thread, code: value } }
  }
  return { metric, scope, labels: { thread } }
}
