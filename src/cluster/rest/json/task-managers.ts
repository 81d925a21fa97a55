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

/** The job id and the place of a process in the id of one of a job in many; undefined for anything else. */
export function parseMemberId(
  id: string,
): { readonly jobId: string; readonly place: number } | undefined {
  const match = /^([0-9a-f]{32})-process-(\d{1,4})$/.exec(id)
  return match === null ? undefined : { jobId: match[1]!, place: Number(match[2]) }
}

/** One row of `/taskmanagers`: a slot of a running job. */
export function taskManagerJson(job: JobSnapshot, slot: SlotSnapshot): object {
  const { host, pid } = job.process
  return managerJson({
    id: slotId(job, slot.number),
    path: `process ${pid} on ${host}, slot ${slot.number} of job ${job.name}`,
    slots: 1,
    process: job.process,
    atMs: job.nowMs,
    managedMemory: slotMetric(job, slot, 'heapMaxBytes'),
  })
}

/** A row of `/taskmanagers` for a process of a job in many. One that does not answer has no numbers. */
export function memberJson(job: JobSnapshot, place: number): object {
  const { address, slots, owned, process } = job.processes![place]!
  const where = process === undefined ? '' : `process ${process.pid} on ${process.host}, `
  const partitions = `${owned.length} of ${job.parallelism} partitions of job ${job.name}`
  return managerJson({
    id: `${job.id}-process-${place}`,
    path: `${where}${address}, ${partitions}`,
    slots,
    process: process ?? UNKNOWN,
    atMs: process === undefined ? 0 : job.nowMs,
    managedMemory: 0,
  })
}

/** `/taskmanagers/:taskmanagerid` for a process of a job in many. */
export function memberDetailJson(job: JobSnapshot, place: number): object {
  const { process = UNKNOWN } = job.processes![place]!
  const { heapUsed, heapCommitted, heapMax } = process.memory
  return {
    ...memberJson(job, place),
    ...detailJson(job, process, { heapUsed, heapCommitted, heapMax }),
  }
}

/** What is shown of a process that does not answer. */
const UNKNOWN: ProcessSnapshot = {
  pid: 0,
  host: '',
  cpuCores: 0,
  startedMs: 0,
  memory: {
    ...{ physical: 0, free: 0, resident: 0, heapUsed: 0 },
    ...{ heapCommitted: 0, heapMax: 0, external: 0 },
  },
  queryPort: undefined,
}

interface Manager {
  readonly id: string
  readonly path: string
  readonly slots: number
  readonly process: ProcessSnapshot
  /** Time of its last sign of life, ms since 1970. */
  readonly atMs: number
  readonly managedMemory: number
}

function managerJson({ id, path, slots, process, atMs, managedMemory }: Manager): object {
  const { cpuCores, memory, queryPort } = process
  return {
    id,
    path,
    dataPort: queryPort ?? -1,
    jmxPort: -1,
    timeSinceLastHeartbeat: atMs,
    slotsNumber: slots,
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
      managedMemory,
    },
    memoryConfiguration: memoryConfiguration(memory),
    blocked: false,
  }
}

/** `/taskmanagers/:taskmanagerid`. */
export function taskManagerDetailJson(job: JobSnapshot, slot: SlotSnapshot): object {
  return {
    ...taskManagerJson(job, slot),
    ...detailJson(job, job.process, {
      heapUsed: slotMetric(job, slot, 'heapUsedBytes'),
      heapCommitted: slotMetric(job, slot, 'heapCommittedBytes'),
      heapMax: slotMetric(job, slot, 'heapMaxBytes'),
    }),
  }
}

function detailJson(
  job: JobSnapshot,
  { memory }: ProcessSnapshot,
  heap: Pick<ProcessSnapshot['memory'], 'heapUsed' | 'heapCommitted' | 'heapMax'>,
): object {
  return {
    allocatedSlots: [{ jobId: job.id, resource: resource(memory) }],
    metrics: {
      ...heap,
      nonHeapUsed: memory.external,
      nonHeapCommitted: memory.external,
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
