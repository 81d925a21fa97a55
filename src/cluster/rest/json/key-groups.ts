import { keyGroupRangeOf } from '../../../core/key-group.ts'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { VertexSnapshot } from '../port/job-snapshot.ts'
import { skewOf } from './metrics.ts'
import { subtasksOf } from './task-metrics.ts'

/** Bars of the answer at most; with more key groups a bar is the sum of several. */
const MOST_BARS = 256

/**
 * `/weir/jobs/:jobid/vertices/:vertexid/key-groups`: how the records of a keyed operator are spread over its
 * key groups and subtasks. `records`: estimated records by number of the key group, none for 0.
 */
export function keyGroupsJson(vertex: VertexSnapshot, records: MetricSnapshot): object {
  const { parallelism, maxParallelism } = vertex
  const counts = Array.from({ length: maxParallelism }, (_, group) => records[group] ?? 0)
  const total = sumOf(counts)
  const groupsPerBar = Math.ceil(maxParallelism / MOST_BARS)
  const hottest = counts.indexOf(Math.max(...counts))
  const subtasks = subtasksOf(vertex).map((subtask) => {
    const { first, last } = keyGroupRangeOf(subtask, parallelism, maxParallelism)
    return { subtask, first, last, records: sumOf(counts.slice(first, last + 1)) }
  })
  return {
    isKeyed: total > 0,
    maxParallelism,
    records: total,
    /** Flink's data skew over subtasks, and over key groups, in percent. */
    subtaskSkew: skewOf(subtasks.map((one) => one.records)),
    keyGroupSkew: skewOf(counts),
    hottest: total === 0 ? null : { keyGroup: hottest, share: counts[hottest]! / total },
    subtasks,
    groupsPerBar,
    bars: Array.from({ length: Math.ceil(maxParallelism / groupsPerBar) }, (_, bar) =>
      sumOf(counts.slice(bar * groupsPerBar, (bar + 1) * groupsPerBar)),
    ),
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
