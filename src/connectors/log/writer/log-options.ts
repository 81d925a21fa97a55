import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../../../core/clock.ts'
import {
  aFunction,
  either,
  milliseconds,
  numberIn,
  objectWith,
  oneOf,
  positiveMilliseconds,
  required,
} from '../../../core/options/kinds.ts'
import { CLOCK } from '../../../core/options/ports.ts'
import { nested, type OptionShape } from '../../../core/options/shape.ts'
import type { FileSystem } from '../../../files/file-system.ts'
import { nodeFileSystem } from '../../../files/node-file-system.ts'
import type { FsyncPolicy } from './log-writer.ts'

/** Default of `transactionTimeoutMs`. */
export const DEFAULT_TRANSACTION_TIMEOUT_MS = 15 * 60_000

/** Options of the writer of a log directory. */
export interface LogOptions {
  /** Default: every 100 ms. */
  readonly fsync?: FsyncPolicy
  /** Time between two runs of retention and compaction in ms, Infinity for none; default 30,000. */
  readonly cleanIntervalMs?: number
  /** A transaction that is open for longer is aborted, in ms; default 15 minutes. */
  readonly transactionTimeoutMs?: number
  /** Longest wait for another process that opens or closes the log, ms; default 30,000. After 5,000 `warn` says so. */
  readonly ownerWaitMs?: number
  readonly clock?: Clock
  /** Makes the ids of new topics; default: random ones. */
  readonly newId?: () => string
  /** Default: the file system of this machine. */
  readonly files?: FileSystem
  /** Called with what a person should know; default: a warning of the process. */
  readonly warn?: (message: string) => void
}

/** The options of the writer of a log directory. */
export const LOG: OptionShape<LogOptions> = {
  fsync: either(
    oneOf('none', 'every-batch'),
    nested<{ readonly intervalMs: number }>({ intervalMs: required(positiveMilliseconds) }),
  ),
  cleanIntervalMs: numberIn({ above: 0, orInfinity: true }),
  transactionTimeoutMs: positiveMilliseconds,
  ownerWaitMs: milliseconds,
  clock: CLOCK,
  newId: aFunction(),
  files: objectWith('a file system', 'openSync'),
  warn: aFunction(),
}

/** Options with their defaults. */
export function resolveLogOptions(options: LogOptions): Required<LogOptions> {
  return {
    fsync: options.fsync ?? { intervalMs: 100 },
    cleanIntervalMs: options.cleanIntervalMs ?? 30_000,
    transactionTimeoutMs: options.transactionTimeoutMs ?? DEFAULT_TRANSACTION_TIMEOUT_MS,
    ownerWaitMs: options.ownerWaitMs ?? 30_000,
    clock: options.clock ?? systemClock,
    newId: options.newId ?? randomUUID,
    files: options.files ?? nodeFileSystem,
    warn: options.warn ?? ((message) => process.emitWarning(message, { code: 'WEIR_LOG' })),
  }
}
