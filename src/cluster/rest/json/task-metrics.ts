import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'

/** Flink's counters of the input and output of a task. */
export interface IoMetrics {
  readonly 'read-bytes': number
  readonly 'read-bytes-complete': boolean
  readonly 'write-bytes': number
  readonly 'write-bytes-complete': boolean
  readonly 'read-records': number
  readonly 'read-records-complete': boolean
  readonly 'write-records': number
  readonly 'write-records-complete': boolean
  readonly 'accumulated-backpressured-time': number
  readonly 'accumulated-idle-time': number
  readonly 'accumulated-busy-time': number
}

/** The metrics of a subtask by name; 0 for one that the slot has not reported. */
export function taskMetrics(
  { metrics }: JobSnapshot,
  { uid }: VertexSnapshot,
  subtask: number,
): (name: string) => number {
  return (name) => metrics[`${uid}.${subtask}.${name}`] ?? 0
}

/** A time per second, ms, as a share of it: 0 to 1. */
export function shareOfSecond(ms: number): number {
  return Math.min(1, Math.max(0, ms / 1000))
}

/** Input, output and times of one subtask. */
export function subtaskIo(job: JobSnapshot, vertex: VertexSnapshot, subtask: number): IoMetrics {
  const read = taskMetrics(job, vertex, subtask)
  return ioMetrics({
    readBytes: read('numBytesIn'),
    writeBytes: read('numBytesOut'),
    readRecords: vertex.isSource ? 0 : read('numRecordsIn'),
    writeRecords: writtenRecords(job, vertex, subtask),
    backPressuredMs: read('accumulatedBackPressuredTimeMs'),
    idleMs: read('accumulatedIdleTimeMs'),
    busyMs: read('accumulatedBusyTimeMs'),
  })
}

/** Input, output and times of all subtasks of a vertex together. */
export function vertexIo(job: JobSnapshot, vertex: VertexSnapshot): IoMetrics {
  const all = subtasksOf(vertex).map((subtask) => subtaskIo(job, vertex, subtask))
  const sum = (name: keyof IoMetrics): number =>
    all.reduce((total, io) => total + Number(io[name]), 0)
  return ioMetrics({
    readBytes: sum('read-bytes'),
    writeBytes: sum('write-bytes'),
    readRecords: sum('read-records'),
    writeRecords: sum('write-records'),
    backPressuredMs: sum('accumulated-backpressured-time'),
    idleMs: sum('accumulated-idle-time'),
    busyMs: sum('accumulated-busy-time'),
  })
}

/** The numbers of the subtasks of a vertex. */
export function subtasksOf({ parallelism }: VertexSnapshot): readonly number[] {
  return Array.from({ length: parallelism }, (_, subtask) => subtask)
}

/** Records that left the chain: those of the operators whose output is an edge of the job graph. */
function writtenRecords(job: JobSnapshot, vertex: VertexSnapshot, subtask: number): number {
  const [head] = vertex.operators
  const read = taskMetrics(job, vertex, subtask)
  const leaving = vertex.operators.filter(({ hasOutput }) => hasOutput)
  return leaving.reduce((sum, operator) => {
    const scope = operator === head ? '' : `${operator.uid}.`
    return sum + read(`${scope}numRecordsOut`)
  }, 0)
}

interface IoNumbers {
  readonly readBytes: number
  readonly writeBytes: number
  readonly readRecords: number
  readonly writeRecords: number
  readonly backPressuredMs: number
  readonly idleMs: number
  readonly busyMs: number
}

function ioMetrics(io: IoNumbers): IoMetrics {
  return {
    'read-bytes': io.readBytes,
    'read-bytes-complete': true,
    'write-bytes': io.writeBytes,
    'write-bytes-complete': true,
    'read-records': io.readRecords,
    'read-records-complete': true,
    'write-records': io.writeRecords,
    'write-records-complete': true,
    'accumulated-backpressured-time': Math.round(io.backPressuredMs),
    'accumulated-idle-time': Math.round(io.idleMs),
    'accumulated-busy-time': Math.round(io.busyMs),
  }
}
