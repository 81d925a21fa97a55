import { availableParallelism, freemem, hostname, totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { ProcessSnapshot } from '../port/job-snapshot.ts'

const STARTED_MS = Math.round(performance.timeOrigin)

/** The calling process now. */
export function processSnapshot(queryPort?: number): ProcessSnapshot {
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  return {
    pid: process.pid,
    host: hostname(),
    cpuCores: availableParallelism(),
    startedMs: STARTED_MS,
    memory: {
      physical: totalmem(),
      free: freemem(),
      resident: rss,
      heapUsed,
      heapCommitted: heapTotal,
      heapMax: getHeapStatistics().heap_size_limit,
      external,
    },
    queryPort,
  }
}
