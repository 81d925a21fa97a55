import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import { subtasksOf } from './task-metrics.ts'

/**
 * How fast a job reads and how far it is behind, as series over time: `source.<uid>.recordsPerSecond` and
 * `source.<uid>.pendingRecords` of each source, and their sums as `job.`. The latter is missing where no source says it.
 */
export function throughputSeries(job: JobSnapshot): MetricSnapshot {
  const series: Record<string, number> = {}
  for (const vertex of job.vertices.filter(({ isSource }) => isSource)) {
    for (const [name, metric] of SERIES) {
      const value = sumOf(job, vertex, metric)
      if (value === undefined) continue
      series[`source.${vertex.uid}.${name}`] = value
      series[`job.${name}`] = (series[`job.${name}`] ?? 0) + value
    }
  }
  return series
}

/** The series, with the metrics of subtasks that they are sums of. */
const SERIES = [
  ['recordsPerSecond', 'numRecordsInPerSecond'],
  ['pendingRecords', 'pendingRecords'],
] as const

/** Sum over the subtasks that have the metric; undefined where none has it. */
function sumOf({ metrics }: JobSnapshot, vertex: VertexSnapshot, name: string): number | undefined {
  const known = subtasksOf(vertex)
    .map((subtask) => metrics[`${vertex.uid}.${subtask}.${name}`])
    .filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0)
}
