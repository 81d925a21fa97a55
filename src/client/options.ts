import type { ConnectionOptions } from 'node:tls'
import { type Clock, systemClock } from '../core/clock.ts'
import {
  count,
  flag,
  milliseconds,
  name,
  numberIn,
  objectWith,
  required,
  text,
  wholeNumber,
} from '../core/options/kinds.ts'
import { CLOCK, RANDOM } from '../core/options/ports.ts'
import { checkOptions, nested, type OptionShape, withDefaults } from '../core/options/shape.ts'
import { type Random, seededRandom } from '../core/random.ts'
import { DEFAULT_FRAME_BYTES } from '../wire/frame.ts'

/** Bounds of the optional row cache. */
export interface CacheOptions {
  /** Most cached rows; the row used longest ago is dropped first. */
  readonly maxRows: number
  /** Highest age of a row that is used again, in ms. */
  readonly maxAgeMs: number
}

/** Options of retries after retryable errors. */
export interface RetryOptions {
  /** Total number of tries. @default 5 */
  readonly maxAttempts: number
  /** Upper bound of the first wait in ms; it doubles with each try. @default 5 */
  readonly baseMs: number
  /** Upper bound of any wait in ms. @default 250 */
  readonly maxMs: number
}

/** Options of `WeirClient.connect`. */
export interface ClientOptions {
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Bootstrap port. @default 9069 */
  readonly port?: number
  /** Name of the job; a server of another job refuses the client. @default any */
  readonly job?: string
  readonly token?: string
  /** Options of the TLS connection; plain TCP when missing. */
  readonly tls?: ConnectionOptions
  /** Name of this client in the server's logs. @default 'weir-client' */
  readonly client?: string
  /** Milliseconds until DEADLINE_EXCEEDED, unless the call has its own deadline. @default 5000 */
  readonly deadlineMs?: number
  /** Whether `connect` waits until `deadlineMs` for a job that has not opened its port yet. @default false */
  readonly waitForJob?: boolean
  /** Most calls that wait for answers; a further call fails with OVERLOADED. @default 65536 */
  readonly maxInFlight?: number
  readonly retry?: Partial<RetryOptions>
  /** @default rows are not cached */
  readonly cache?: CacheOptions
  /** Largest answer frame accepted, in bytes. @default 1 MiB */
  readonly maxFrameBytes?: number
  /** Most predictions per frame. @default 128 */
  readonly maxBatch?: number
  readonly clock?: Clock
  readonly random?: Random
}

const CLIENT: OptionShape<ClientOptions> = {
  host: name,
  port: wholeNumber({ min: 1, max: 65_535 }),
  job: text,
  token: text,
  // Options of Node are checked by Node.
  tls: objectWith("Node's TLS options"),
  client: text,
  deadlineMs: numberIn({ above: 0, orInfinity: true }),
  waitForJob: flag,
  maxInFlight: count,
  retry: nested<Partial<RetryOptions>>({
    maxAttempts: count,
    baseMs: milliseconds,
    maxMs: milliseconds,
  }),
  cache: nested<CacheOptions>({
    maxRows: required(count),
    maxAgeMs: required(numberIn({ min: 0, orInfinity: true })),
  }),
  maxFrameBytes: count,
  maxBatch: wholeNumber({ min: 1, max: 4096 }),
  clock: CLOCK,
  random: RANDOM,
}

/** Options with every default filled in. */
export interface ResolvedClientOptions {
  readonly host: string
  readonly port: number
  readonly job: string
  readonly token: string
  readonly tls: ConnectionOptions | undefined
  readonly client: string
  readonly deadlineMs: number
  readonly waitForJob: boolean
  readonly maxInFlight: number
  readonly retry: RetryOptions
  readonly cache: CacheOptions | undefined
  readonly maxFrameBytes: number
  readonly maxBatch: number
  readonly clock: Clock
  readonly random: Random
}

/** Bootstrap port of the query protocol. */
const DEFAULT_QUERY_PORT = 9069

const DEFAULT_RETRY: RetryOptions = { maxAttempts: 5, baseMs: 5, maxMs: 250 }

/** Fills in defaults. Throws INVALID_ARGUMENT. */
export function resolveClientOptions(options: ClientOptions): ResolvedClientOptions {
  checkOptions('WeirClient.connect', CLIENT, options)
  const clock = options.clock ?? systemClock
  return {
    host: options.host ?? '127.0.0.1',
    port: options.port ?? DEFAULT_QUERY_PORT,
    job: options.job ?? '',
    token: options.token ?? '',
    tls: options.tls,
    client: options.client ?? 'weir-client',
    deadlineMs: options.deadlineMs ?? 5_000,
    waitForJob: options.waitForJob ?? false,
    maxInFlight: options.maxInFlight ?? 65_536,
    retry: withDefaults<Partial<RetryOptions>>(DEFAULT_RETRY, options.retry ?? {}),
    cache: options.cache,
    maxFrameBytes: options.maxFrameBytes ?? DEFAULT_FRAME_BYTES,
    maxBatch: options.maxBatch ?? 128,
    clock,
    random: options.random ?? seededRandom(clock.nowMs()),
  }
}
