import type { TlsOptions } from 'node:tls'
import { type Clock, systemClock } from '../core/clock.ts'
import { requireArgument } from '../core/errors.ts'
import { MetricGroup } from '../core/metrics.ts'
import { DEFAULT_FRAME_BYTES, MAX_FRAME_BYTES, MIN_FRAME_BYTES } from '../wire/frame.ts'

/** Limits that keep one client from harming the server or the others. */
export interface QueryLimits {
  /** Largest request frame in bytes. @default 1 MiB */
  readonly maxFrameBytes: number
  /** Connections at a time; a further one is told OVERLOADED. @default 1024 */
  readonly maxConnections: number
  /** Requests of one connection that wait for an asynchronous answer. @default 4096 */
  readonly maxOutstanding: number
  /** Output of a connection above which its input is not read, in bytes. @default 1 MiB */
  readonly maxOutputBytes: number
  /** A connection whose output does not move for this long is closed, in ms. @default 10000 */
  readonly stuckTimeoutMs: number
  /** A connection that sends nothing for this long is closed, in ms. @default 120000 */
  readonly idleTimeoutMs: number
  /** A connection must say hello within this, in ms. @default 5000 */
  readonly helloTimeoutMs: number
}

/** Limits unless told otherwise. */
export const DEFAULT_LIMITS: QueryLimits = {
  maxFrameBytes: DEFAULT_FRAME_BYTES,
  maxConnections: 1024,
  maxOutstanding: 4096,
  maxOutputBytes: 1024 * 1024,
  stuckTimeoutMs: 10_000,
  idleTimeoutMs: 120_000,
  helloTimeoutMs: 5_000,
}

/** Options of a query server. */
export interface QueryServerOptions {
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Ports to try in turn until one is free; 0 lets the system choose. @default [0] */
  readonly ports?: readonly number[]
  /** Name in `servedBy`. @default 'query-0' */
  readonly server?: string
  /** Job that is served; a hello that names another one is refused. @default '' (any) */
  readonly job?: string
  /** Token that every hello must carry; none is asked for when missing. */
  readonly token?: string
  /** Certificate and key; plain TCP when missing. */
  readonly tls?: TlsOptions
  readonly limits?: Partial<QueryLimits>
  readonly clock?: Clock
  readonly metrics?: MetricGroup
}

/** Options with every default filled in. */
export interface ResolvedQueryOptions {
  readonly host: string
  readonly ports: readonly number[]
  readonly server: string
  readonly job: string
  readonly token: string | undefined
  readonly tls: TlsOptions | undefined
  readonly limits: QueryLimits
  readonly clock: Clock
  readonly metrics: MetricGroup
}

/** Fills in defaults. Throws INVALID_ARGUMENT. */
export function resolveQueryOptions(options: QueryServerOptions): ResolvedQueryOptions {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  requireArgument(
    limits.maxFrameBytes >= MIN_FRAME_BYTES && limits.maxFrameBytes <= MAX_FRAME_BYTES,
    `maxFrameBytes must be from ${MIN_FRAME_BYTES} to ${MAX_FRAME_BYTES}, not ${limits.maxFrameBytes}`,
  )
  return {
    host: options.host ?? '127.0.0.1',
    ports: options.ports ?? [0],
    server: options.server ?? 'query-0',
    job: options.job ?? '',
    token: options.token,
    tls: options.tls,
    limits,
    clock: options.clock ?? systemClock,
    metrics: options.metrics ?? new MetricGroup(),
  }
}
