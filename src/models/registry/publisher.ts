/**
 * The process that publishes a version: a field of the `announce` markers, which it writes again every
 * `HEARTBEAT_MS` while it sends rows. A publisher that was silent for `LEASE_MS` has ended, wherever it ran.
 */
export interface Publisher {
  /** `<machine>/<process id>-<start of the process>/<number of the publication in it>`. */
  readonly process: string
  /** When it last said that it runs, ms since 1970 of its clock. */
  readonly atMs: number
}

/** Time between two signs of life of a publisher, ms. */
export const HEARTBEAT_MS = 30_000

/** Age of its last sign of life from which a publisher of another machine has ended, ms. Clocks may differ by minutes. */
export const LEASE_MS = 600_000

/** Age from which a publisher that gives no signs of life has ended, ms: one of an earlier build, or of a retraining. */
export const SILENT_LEASE_MS = 24 * 3_600_000

/** What is known of a publisher. */
export type PublisherState =
  /** Its process runs on this machine. */
  | 'running'
  /** Its process is on another machine, or it is not known which one it is, and it may run. */
  | 'may-run'
  /** It has ended. */
  | 'gone'

/** The processes of this machine. */
export interface Processes {
  /** Start of the names of its processes. */
  readonly machine: string
  /** Whether a publication of a process of this machine goes on. */
  goesOn(process: string): boolean
}

/** Facts for the decision. */
export interface PublisherFacts {
  /** Name of its process; undefined for one of an earlier build. */
  readonly process: string | undefined
  /** Age of its last sign of life, ms. */
  readonly ageMs: number
  /** Age from which a publisher of another machine has ended, ms. */
  readonly leaseMs: number
}

/** Whether a publisher has ended: of this machine that is known, of another one its silence says so. */
export function publisherState(
  { process, ageMs, leaseMs }: PublisherFacts,
  here: Processes,
): PublisherState {
  if (process?.split('/')[0] === here.machine) return here.goesOn(process) ? 'running' : 'gone'
  return ageMs > leaseMs ? 'gone' : 'may-run'
}

/** Whether a value of a marker is a publisher. */
export function isPublisher(value: unknown): value is Publisher {
  if (typeof value !== 'object' || value === null) return false
  const { process, atMs } = value as Readonly<Record<string, unknown>>
  return typeof process === 'string' && Number.isSafeInteger(atMs)
}
