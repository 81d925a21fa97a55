import type { Labels, MetricFamily, SummarySample } from '../../../core/prometheus/text-format.ts'
import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import {
  JOB_METRICS,
  OPERATOR_METRICS,
  type PrometheusMetric,
  QUERY_METRICS,
  type ScopeMetrics,
  SLOT_METRICS,
  TASK_METRICS,
  USER_METRIC,
} from './metric-names.ts'

interface NumberSample {
  readonly labels: Labels
  readonly value: number
}

type Collected =
  | {
      readonly type: 'counter' | 'gauge' | 'untyped'
      readonly help: string
      readonly samples: NumberSample[]
    }
  | { readonly type: 'summary'; readonly help: string; readonly samples: SummarySample[] }

/** Numbers of a histogram, by the end of their names. */
const HISTOGRAM_NUMBER = /^(.+)_(count|sum|p50|p99|max)$/

/** Labels of everything that belongs to a job: those of Flink's reporter. */
export function jobLabels({ id, name }: JobSnapshot): Labels {
  return { job_id: id, job_name: name }
}

/** Families of the metrics that jobs report, each sample with Flink's name in the label `metric`. */
export function measuredFamilies(jobs: readonly JobSnapshot[]): MetricFamily[] {
  const families = new Map<string, Collected>()
  for (const job of jobs) {
    const placeOf = placesOf(job)
    const ofJob = jobLabels(job)
    for (const [fullName, value] of Object.entries(job.metrics)) {
      const { metric, scope, labels } = placeOf(fullName)
      const all = { ...ofJob, ...labels, metric }
      const known = Object.hasOwn(scope, metric) ? scope[metric] : undefined
      if (known !== undefined) addNumber(families, known, { labels: all, value })
      else if (!addSummary({ families, job, scope, fullName, labels: all })) {
        if (scope === OPERATOR_METRICS) addUserMetric(families, { labels: all, value })
      }
    }
  }
  return [...families].map(([name, family]) => ({ name, ...family }))
}

function addNumber(
  families: Map<string, Collected>,
  { name, type, help, factor = 1, absentBelowZero = false }: PrometheusMetric,
  { labels, value }: NumberSample,
): void {
  if (type === 'summary' || (absentBelowZero && value < 0)) return
  const family = families.get(name) ?? { type, help, samples: [] }
  families.set(name, family)
  if (family.type !== 'summary') family.samples.push({ labels, value: scaled(value, factor) })
}

/** Divides by whole powers of ten, so that 3 ms are 0.003 s and not 0.0030000000000000001 s. */
function scaled(value: number, factor: number): number {
  return factor < 1 ? value / (1 / factor) : value * factor
}

/**
 * Adds the summary that a number of a histogram belongs to, once: at its count. Whether the number is
 * one of a known histogram.
 */
function addSummary(options: {
  readonly families: Map<string, Collected>
  readonly job: JobSnapshot
  readonly scope: ScopeMetrics
  readonly fullName: string
  readonly labels: Labels
}): boolean {
  const { families, job, scope, fullName, labels } = options
  const found = HISTOGRAM_NUMBER.exec(labels['metric']!)
  const metric = found?.[1]
  const known = metric !== undefined && Object.hasOwn(scope, metric) ? scope[metric] : undefined
  if (metric === undefined || known?.type !== 'summary') return false
  if (found?.[2] !== 'count') return true
  const { name, help, factor = 1 } = known
  const prefix = fullName.slice(0, -'count'.length)
  const number = (end: string): number => job.metrics[`${prefix}${end}`] ?? 0
  const quantiles = {
    '0.5': scaled(number('p50'), factor),
    '0.99': scaled(number('p99'), factor),
    '1': scaled(number('max'), factor),
  }
  const family = families.get(name) ?? { type: 'summary', help, samples: [] }
  families.set(name, family)
  if (family.type === 'summary') {
    family.samples.push({
      labels: { ...labels, metric },
      quantiles,
      sum: scaled(number('sum'), factor),
      count: number('count'),
    })
  }
  return true
}

function addUserMetric(families: Map<string, Collected>, sample: NumberSample): void {
  const { name, help } = USER_METRIC
  const family = families.get(name) ?? { type: 'untyped', help, samples: [] }
  families.set(name, family)
  if (family.type !== 'summary') family.samples.push(sample)
}

/** Where a metric of a job belongs. */
interface MetricPlace {
  /** Name of the metric within its scope. */
  readonly metric: string
  readonly scope: ScopeMetrics
  readonly labels: Labels
}

/** Finds for a full name (`<uid>.<subtask>.numRecordsIn`) the scope, its labels and the metric's name. */
function placesOf({ vertices }: JobSnapshot): (name: string) => MetricPlace {
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
