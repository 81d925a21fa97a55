import type { JobSnapshot, ProcessSnapshot, SlotSnapshot } from '../port/job-snapshot.ts'

/** Id of a slot as a task manager: `<job id>-slot-<n>`. */
export function slotId({ id }: Pick<JobSnapshot, 'id'>, slot: number): string {
  return `${id}-slot-${slot}`
}

/** The job id and the number in a slot's id; undefined for anything else. */
export function parseSlotId(
  id: string,
): { readonly jobId: string; readonly slot: number } | undefined {
  const match = /^([0-9a-f]{32})-slot-(\d{1,4})$/.exec(id)
  return match === null ? undefined : { jobId: match[1]!, slot: Number(match[2]) }
}

/** One row of `/taskmanagers`: a slot of a running job. */
export function taskManagerJson(job: JobSnapshot, slot: SlotSnapshot): object {
  const { host, pid, cpuCores, memory, queryPort } = job.process
  return {
    id: slotId(job, slot.number),
    path: `process ${pid} on ${host}, slot ${slot.number} of job ${job.name}`,
    dataPort: queryPort ?? -1,
    jmxPort: -1,
    timeSinceLastHeartbeat: job.nowMs,
    slotsNumber: 1,
    freeSlots: 0,
    totalResource: resource(memory),
    freeResource: {
      cpuCores: 0,
      taskHeapMemory: 0,
      taskOffHeapMemory: 0,
      managedMemory: 0,
      networkMemory: 0,
      extendedResources: {},
    },
    hardware: {
      cpuCores,
      physicalMemory: memory.physical,
      freeMemory: memory.free,
      managedMemory: slotMetric(job, slot, 'heapMaxBytes'),
    },
    memoryConfiguration: memoryConfiguration(memory),
    blocked: false,
  }
}

/** `/taskmanagers/:taskmanagerid`. */
export function taskManagerDetailJson(job: JobSnapshot, slot: SlotSnapshot): object {
  return {
    ...taskManagerJson(job, slot),
    allocatedSlots: [{ jobId: job.id, resource: resource(job.process.memory) }],
    metrics: {
      heapUsed: slotMetric(job, slot, 'heapUsedBytes'),
      heapCommitted: slotMetric(job, slot, 'heapCommittedBytes'),
      heapMax: slotMetric(job, slot, 'heapMaxBytes'),
      nonHeapUsed: job.process.memory.external,
      nonHeapCommitted: job.process.memory.external,
      nonHeapMax: -1,
      directCount: 0,
      directUsed: 0,
      directMax: 0,
      mappedCount: 0,
      mappedUsed: 0,
      mappedMax: 0,
      memorySegmentsAvailable: 0,
      memorySegmentsTotal: 0,
      nettyShuffleMemorySegmentsAvailable: 0,
      nettyShuffleMemorySegmentsUsed: 0,
      nettyShuffleMemorySegmentsTotal: 0,
      nettyShuffleMemoryAvailable: 0,
      nettyShuffleMemoryUsed: 0,
      nettyShuffleMemoryTotal: 0,
      garbageCollectors: [],
    },
  }
}

/** Metrics of a slot by name, without the prefix of the slot; those of the heap under Flink's names. */
export function slotMetrics(job: JobSnapshot, slot: number): Record<string, number> {
  const prefix = `slot.${slot}.`
  const own = Object.entries(job.metrics).filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(
    own.map(([name, value]) => {
      const short = name.slice(prefix.length)
      return [FLINK_NAMES[short] ?? short, value]
    }),
  )
}

const FLINK_NAMES: Readonly<Record<string, string>> = {
  heapUsedBytes: 'Status.JVM.Memory.Heap.Used',
  heapCommittedBytes: 'Status.JVM.Memory.Heap.Committed',
  heapMaxBytes: 'Status.JVM.Memory.Heap.Max',
}

function slotMetric(job: JobSnapshot, { number }: SlotSnapshot, name: string): number {
  return job.metrics[`slot.${number}.${name}`] ?? 0
}

function resource({ heapMax }: ProcessSnapshot['memory']): object {
  return {
    cpuCores: 1,
    taskHeapMemory: Math.round(heapMax / 2 ** 20),
    taskOffHeapMemory: 0,
    managedMemory: 0,
    networkMemory: 0,
    extendedResources: {},
  }
}

function memoryConfiguration({ heapMax, physical }: ProcessSnapshot['memory']): object {
  return {
    frameworkHeap: 0,
    taskHeap: heapMax,
    frameworkOffHeap: 0,
    taskOffHeap: 0,
    networkMemory: 0,
    managedMemory: 0,
    jvmMetaspace: 0,
    jvmOverhead: 0,
    totalFlinkMemory: heapMax,
    totalProcessMemory: physical,
  }
}
