import type { TlsOptions } from 'node:tls'
import { type Clock, systemClock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import { MetricGroup } from '../../core/metrics.ts'
import { withDefaults } from '../../core/options/shape.ts'
import type { AuditSink } from '../../http/access/audit.ts'
import { type AccessShare, OPEN_ACCESS } from '../../http/access/control.ts'
import { DEFAULT_FRAME_BYTES, MAX_FRAME_BYTES, MIN_FRAME_BYTES } from '../../wire/frame.ts'

/** Limits that protect the server and its other clients from one client. */
export interface QueryLimits {
  /** Largest request frame in bytes. @default 1 MiB */
  readonly maxFrameBytes: number
  /** Connections at a time; a further one is refused with OVERLOADED. @default 1024 */
  readonly maxConnections: number
  /** Connections of one remote address at a time. @default half of `maxConnections` */
  readonly maxConnectionsPerAddress: number
  /** Requests of one connection that wait for an asynchronous answer. @default 4096 */
  readonly maxOutstanding: number
  /** Bytes of the requests of one connection that wait for an asynchronous answer. @default 8 MiB */
  readonly maxOutstandingBytes: number
  /**
   * Output of a connection above which its input is not read and its waiting requests do not run, in
   * bytes. @default 1 MiB
   */
  readonly maxOutputBytes: number
  /** Longest deadline of a request in ms; a longer one counts as this one. @default 60000 */
  readonly maxDeadlineMs: number
  /** A connection whose output does not move for this long is closed, in ms. @default 10000 */
  readonly stuckTimeoutMs: number
  /** A connection that sends nothing for this long is closed, in ms. @default 120000 */
  readonly idleTimeoutMs: number
  /** A connection must say hello within this, in ms. @default 5000 */
  readonly helloTimeoutMs: number
}

/** Default limits. */
const DEFAULT_LIMITS: QueryLimits = {
  maxFrameBytes: DEFAULT_FRAME_BYTES,
  maxConnections: 1024,
  maxConnectionsPerAddress: 512,
  maxOutstanding: 4096,
  maxOutstandingBytes: 8 * 1024 * 1024,
  maxOutputBytes: 1024 * 1024,
  maxDeadlineMs: 60_000,
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
  /** Takes an entry for each change that a client asks for. @default none is kept */
  readonly audit?: AuditSink
  /** Tokens of which every hello must carry one. @default none is required */
  readonly access?: AccessShare
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
  readonly audit: AuditSink
  readonly access: AccessShare
  readonly tls: TlsOptions | undefined
  readonly limits: QueryLimits
  readonly clock: Clock
  readonly metrics: MetricGroup
}

/** Longest time that a timer can wait, in ms. */
const MAX_TIMER_MS = 2 ** 31 - 1

function limitsOf(given: Partial<QueryLimits>): QueryLimits {
  const { maxConnections = DEFAULT_LIMITS.maxConnections } = given
  const maxConnectionsPerAddress = Math.max(1, Math.ceil(maxConnections / 2))
  const defaults = { ...DEFAULT_LIMITS, maxConnectionsPerAddress }
  const limits = withDefaults<Partial<QueryLimits>>(defaults, given)
  requireArgument(
    limits.maxDeadlineMs >= 1 && limits.maxDeadlineMs <= MAX_TIMER_MS,
    `maxDeadlineMs must be from 1 to ${MAX_TIMER_MS}, not ${limits.maxDeadlineMs}`,
  )
  return limits
}

/** Fills in defaults. Throws INVALID_ARGUMENT. */
export function resolveQueryOptions(options: QueryServerOptions): ResolvedQueryOptions {
  const limits = limitsOf(options.limits ?? {})
  requireArgument(
    limits.maxFrameBytes >= MIN_FRAME_BYTES && limits.maxFrameBytes <= MAX_FRAME_BYTES,
    `maxFrameBytes must be from ${MIN_FRAME_BYTES} to ${MAX_FRAME_BYTES}, not ${limits.maxFrameBytes}`,
  )
  return {
    host: options.host ?? '127.0.0.1',
    ports: options.ports ?? [0],
    server: options.server ?? 'query-0',
    job: options.job ?? '',
    access: options.access ?? OPEN_ACCESS,
    audit: options.audit ?? (() => {}),
    tls: options.tls,
    limits,
    clock: options.clock ?? systemClock,
    metrics: options.metrics ?? new MetricGroup(),
  }
}
