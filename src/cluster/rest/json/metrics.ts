import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'

/** How the values of several subtasks, slots or jobs are put together. */
export const AGGREGATIONS = ['min', 'max', 'avg', 'sum', 'skew'] as const

/** A way to put values together. */
export type Aggregation = (typeof AGGREGATIONS)[number]

/** Flink's answer about metrics: all names, or the values of those named in `get`. */
export function metricsJson(values: MetricSnapshot, get: readonly string[] | undefined): object[] {
  if (get === undefined) return Object.keys(values).map((id) => ({ id }))
  return get
    .filter((id) => Object.hasOwn(values, id))
    .map((id) => ({ id, value: String(values[id]) }))
}

/** Flink's answer about metrics of many: all names, or aggregates of those named in `get`. */
export function aggregatedMetricsJson(
  all: readonly MetricSnapshot[],
  get: readonly string[] | undefined,
  aggregations: readonly Aggregation[],
): object[] {
  if (get === undefined) {
    return [...new Set(all.flatMap((values) => Object.keys(values)))].map((id) => ({ id }))
  }
  const known = get.filter((id) => all.some((values) => Object.hasOwn(values, id)))
  return known.map((id) => {
    const values = all.map((one) => one[id]).filter((value) => value !== undefined)
    const results = aggregations.map((name) => [name, AGGREGATE[name](values)])
    return { id, ...Object.fromEntries(results) }
  })
}

/** Metrics of the job itself: those that belong to no task, slot or query thread. */
export function jobMetrics(job: JobSnapshot): MetricSnapshot {
  const prefixes = ['slot.', 'query.', ...job.vertices.map(({ uid }) => `${uid}.`)]
  const own = Object.entries(job.metrics).filter(
    ([name]) => !prefixes.some((prefix) => name.startsWith(prefix)),
  )
  return { ...Object.fromEntries(own), ...uptimes(job) }
}

/** Metrics of a vertex, `<subtask>.<name>` and, for operators in the chain, `<subtask>.<uid>.<name>`. */
export function vertexMetrics(job: JobSnapshot, vertex: VertexSnapshot): MetricSnapshot {
  const prefix = `${vertex.uid}.`
  const own = Object.entries(job.metrics)
    .filter(([name]) => name.startsWith(prefix) && /^\d+\./.test(name.slice(prefix.length)))
    .map(([name, value]) => [name.slice(prefix.length), value])
  return Object.fromEntries(own)
}

/** Metrics of one subtask, without its number. */
export function subtaskMetrics(
  job: JobSnapshot,
  vertex: VertexSnapshot,
  subtask: number,
): MetricSnapshot {
  const prefix = `${subtask}.`
  const own = Object.entries(vertexMetrics(job, vertex))
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, value]) => [name.slice(prefix.length), value])
  return Object.fromEntries(own)
}

/** Time in RUNNING and RESTARTING, under Flink's names. */
function uptimes({ status, timestamps, nowMs }: JobSnapshot): MetricSnapshot {
  const since = (name: 'RUNNING' | 'RESTARTING'): number =>
    status === name ? nowMs - (timestamps[name] ?? nowMs) : 0
  return {
    runningTime: since('RUNNING'),
    uptime: since('RUNNING'),
    restartingTime: since('RESTARTING'),
  }
}

const AGGREGATE: Readonly<Record<Aggregation, (values: readonly number[]) => number>> = {
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  avg: (values) => average(values),
  sum: (values) => values.reduce((total, value) => total + value, 0),
  skew: (values) => skewOf(values),
}

function average(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length
}

/** Flink's data skew: the mean distance from the average, in percent of the average, at most 100. */
export function skewOf(values: readonly number[]): number {
  const mean = average(values)
  if (mean === 0) return 0
  const distance = average(values.map((value) => Math.abs(value - mean)))
  return Math.min(100, (distance / mean) * 100)
}
