import type { MetricSnapshot } from '../../../core/metrics.ts'
import type {
  CheckpointsSnapshot,
  JobSnapshot,
  VertexSnapshot,
} from '../../rest/port/job-snapshot.ts'

/** Checkpoints that a snapshot of many partitions keeps. */
const HISTORY = 100

/**
 * The snapshot of a job partition with its number as that of its subtask and its slot, so that those of several
 * partitions can be put together. `partitions`: how many there are.
 */
export function asPartition(
  snapshot: JobSnapshot,
  partition: number,
  partitions: number,
): JobSnapshot {
  const uids = new Set(snapshot.vertices.map(({ uid }) => uid))
  // Only partition 0 has the operators whose parallelism is fixed at 1.
  const parallelism = (vertex: VertexSnapshot): number =>
    vertex.hasOwnParallelism === true && partition === 0 ? 1 : partitions
  return {
    ...snapshot,
    parallelism: partitions,
    vertices: snapshot.vertices.map((vertex) => ({ ...vertex, parallelism: parallelism(vertex) })),
    slots: snapshot.slots.map(({ status }) => ({ number: partition, status })),
    metrics: Object.fromEntries(
      Object.entries(snapshot.metrics).map(([name, value]) => [
        numbered(name, { uids, partition }),
        value,
      ]),
    ),
    failures: snapshot.failures.map((failure) => ({
      ...failure,
      task: failure.task?.replace(/#0$/, `#${partition}`),
    })),
  }
}

/** A metric of the only subtask or slot under the number of the partition. */
function numbered(
  name: string,
  { uids, partition }: { readonly uids: ReadonlySet<string>; readonly partition: number },
): string {
  if (name.startsWith('slot.0.')) return `slot.${partition}${name.slice(6)}`
  for (let at = name.indexOf('.0.'); at > 0; at = name.indexOf('.0.', at + 1)) {
    const uid = name.slice(0, at)
    if (uids.has(uid)) return `${uid}.${partition}${name.slice(at + 2)}`
  }
  return name
}

/**
 * One job of parts that run other partitions: vertices, metrics, failures and checkpoints of all. `base` has what parts do
 * not say, and stands for none of them.
 */
export function mergedJob(base: JobSnapshot, parts: readonly JobSnapshot[]): JobSnapshot {
  const vertices = new Map<string, VertexSnapshot>()
  for (const vertex of parts.flatMap((part) => part.vertices)) {
    const known = vertices.get(vertex.id)
    // Partition 0 says 1 of an operator that the others have as well.
    if (known === undefined || known.parallelism < vertex.parallelism)
      vertices.set(vertex.id, vertex)
  }
  return {
    ...base,
    status: statusOf(parts) ?? base.status,
    timestamps: { ...base.timestamps, ...runningSince(parts) },
    attempt: Math.max(base.attempt, ...parts.map(({ attempt }) => attempt)),
    vertices: [...vertices.values()],
    slots: parts.flatMap(({ slots }) => slots).toSorted((a, b) => a.number - b.number),
    metrics: metricsOf(parts.map(({ metrics }) => metrics)),
    failures: parts.flatMap(({ failures }) => failures).toSorted((a, b) => a.atMs - b.atMs),
    checkpoints: mergedCheckpoints(parts.flatMap(({ checkpoints }) => checkpoints ?? [])),
    waits: parts.flatMap(({ waits }) => waits ?? []),
  }
}

/** A job runs where one of its parts does; otherwise it is what the first part is. */
function statusOf(parts: readonly JobSnapshot[]): JobSnapshot['status'] | undefined {
  const statuses = parts.map(({ status }) => status)
  return statuses.find((status) => status === 'RUNNING') ?? statuses[0]
}

function runningSince(parts: readonly JobSnapshot[]): { readonly RUNNING?: number } {
  const times = parts.flatMap(({ timestamps }) => timestamps.RUNNING ?? [])
  return times.length === 0 ? {} : { RUNNING: Math.min(...times) }
}

/** Only metrics of a job as a whole have one name in several parts: numbers of things add up, of others the largest counts. */
function metricsOf(all: readonly MetricSnapshot[]): MetricSnapshot {
  const merged = new Map<string, number>()
  for (const metrics of all) {
    for (const [name, value] of Object.entries(metrics)) {
      const before = merged.get(name)
      const both = before === undefined ? value : COUNTS.test(name) ? before + value : undefined
      merged.set(name, both ?? Math.max(before!, value))
    }
  }
  return Object.fromEntries(merged)
}

const COUNTS = /^(?:num|total)/

function mergedCheckpoints(all: readonly CheckpointsSnapshot[]): CheckpointsSnapshot | undefined {
  const [first] = all
  if (first === undefined) return undefined
  const sum = (name: keyof CheckpointsSnapshot['counts']): number =>
    all.reduce((total, { counts }) => total + counts[name], 0)
  const restored = all.flatMap((part) => part.restored ?? [])
  return {
    counts: {
      restored: sum('restored'),
      total: sum('total'),
      in_progress: sum('in_progress'),
      completed: sum('completed'),
      failed: sum('failed'),
    },
    history: all
      .flatMap(({ history }) => history)
      .toSorted((a, b) => b.trigger_timestamp - a.trigger_timestamp)
      .slice(0, HISTORY),
    restored: restored.toSorted((a, b) => b.atMs - a.atMs)[0],
    settings: first.settings,
  }
}
