import { LEASE_MS, type Processes, publisherState } from './publisher.ts'

/** The loop that retrains a model: a field of the model in the registry, which the loop renews while it runs. */
export interface RetrainingLease {
  /** As `Publisher.process`. */
  readonly process: string
  /** When it began, ms since 1970. */
  readonly sinceMs: number
  /** When it last said that it runs, ms since 1970 of its clock. */
  readonly atMs: number
}

/** Time between two renewals of a lease, ms. */
export const RENEW_LEASE_MS = 10_000

/** What a loop that begins knows. */
export interface LeaseFacts {
  readonly held: RetrainingLease | undefined
  readonly nowMs: number
  readonly here: Processes
  /** Whether the model is taken over from a loop that runs. */
  readonly isTakeOver: boolean
}

/**
 * Whether a loop that begins may have the model: no other loop has it, or that one has ended. Of a loop on another
 * machine its silence says so, ten minutes after it.
 */
export function mayLease({ held, nowMs, here, isTakeOver }: LeaseFacts): boolean {
  if (held === undefined || isTakeOver) return true
  const { process, atMs } = held
  return publisherState({ process, ageMs: nowMs - atMs, leaseMs: LEASE_MS }, here) === 'gone'
}
