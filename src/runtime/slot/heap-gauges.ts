import { getHeapStatistics } from 'node:v8'
import type { MetricGroup } from '../../core/metrics.ts'

/** Adds the size of the heap of the calling thread, in bytes. */
export function addHeapGauges(metrics: MetricGroup): void {
  metrics.gauge('heapUsedBytes', () => getHeapStatistics().used_heap_size)
  metrics.gauge('heapCommittedBytes', () => getHeapStatistics().total_heap_size)
  metrics.gauge('heapMaxBytes', () => getHeapStatistics().heap_size_limit)
}
