import type { MetricSnapshot } from '../../core/metrics.ts'
import { overviewJson } from '../json/cluster.ts'
import type { JobSnapshot, ProcessSnapshot } from '../port/job-snapshot.ts'

/** Metrics of the JobManager's process under Flink's names. */
export function processMetrics(
  { memory, cpuCores, startedMs }: ProcessSnapshot,
  jobs: readonly JobSnapshot[],
): MetricSnapshot {
  const overview = overviewJson(jobs, '') as Record<string, number>
  return {
    numRunningJobs: overview['jobs-running']!,
    numRegisteredTaskManagers: overview['taskmanagers']!,
    taskSlotsTotal: overview['slots-total']!,
    taskSlotsAvailable: overview['slots-available']!,
    'Status.JVM.Memory.Heap.Used': memory.heapUsed,
    'Status.JVM.Memory.Heap.Committed': memory.heapCommitted,
    'Status.JVM.Memory.Heap.Max': memory.heapMax,
    'Status.JVM.Memory.NonHeap.Used': memory.external,
    'Status.JVM.Memory.NonHeap.Committed': memory.external,
    'Status.JVM.Memory.NonHeap.Max': -1,
    'Status.JVM.Memory.Metaspace.Used': 0,
    'Status.JVM.Memory.Metaspace.Committed': 0,
    'Status.JVM.Memory.Metaspace.Max': 0,
    'Status.JVM.Memory.Direct.Count': 0,
    'Status.JVM.Memory.Direct.MemoryUsed': 0,
    'Status.JVM.Memory.Direct.TotalCapacity': 0,
    'Status.JVM.Memory.Mapped.Count': 0,
    'Status.JVM.Memory.Mapped.MemoryUsed': 0,
    'Status.JVM.Memory.Mapped.TotalCapacity': 0,
    'Status.Process.Memory.Resident': memory.resident,
    'Status.Process.CpuCores': cpuCores,
    'Status.Process.StartTime': startedMs,
  }
}
