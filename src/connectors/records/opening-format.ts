import type { Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import { waitEndNotice, waitNotice } from '../../core/lifetime/wait.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import { aFunction, either, type OptionKind, objectWith } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'

const PROMISE = objectWith<Promise<unknown>>('a promise', 'then')
/** Time after which a wait for a format is reported, ms. */
const FIRST_NOTICE_MS = 5_000

/** What a format knows of the subtask that opens it. */
export interface FormatContext {
  readonly subtask: number
  readonly parallelism: number
  readonly clock: Clock
  readonly metrics: MetricGroup
  /** Reports what a person should know while the subtask goes on. */
  readonly warn?: ((warning: WeirError) => void) | undefined
}

/**
 * A format that is opened before the first record of a subtask, because it fetches what it needs: a schema of a registry, a
 * key. Flink's `DeserializationSchema.open`.
 */
export interface OpeningFormat<F> {
  /** The function for the records of a subtask. What it rejects with ends the attempt of the job. */
  open(context: FormatContext): F | Promise<F>
  /** Called when the subtask ends. */
  close?(): void | Promise<void>
}

/**
 * Thrown by a deserializer that cannot read a record yet, such as one of a schema that is being fetched. When the promise has
 * settled, either way, the deserializer gets the record again; until then no record behind it is read of this partition.
 */
export class FormatNotReady extends Error {
  readonly settled: Promise<unknown>

  constructor(settled: Promise<unknown>) {
    super('the format of the record is not ready yet')
    checkArgument('new FormatNotReady', 'settled', PROMISE, settled)
    this.name = 'FormatNotReady'
    this.settled = settled
  }
}

/** The kind of a function for records, or of a format that opens one. */
export function functionOrFormat<F>(): OptionKind<F | OpeningFormat<F>> {
  return either(aFunction<F>(), objectWith<OpeningFormat<F>>('a format with open()', 'open'))
}

/** The function for the records of a subtask. `topic` names the format in the notice of a long wait. */
export async function openFormat<F extends (...args: never[]) => unknown>(
  format: F | OpeningFormat<F>,
  context: FormatContext,
  topic: string,
): Promise<F> {
  if (typeof format === 'function') return format
  const { subtask, parallelism, clock, metrics, warn } = context
  const opened = format.open({ subtask, parallelism, clock, metrics, warn })
  return opened instanceof Promise ? await reported(opened, context, topic) : opened
}

/** The same promise; after five seconds the subtask reports that it waits for it, and then that it no longer does. */
export async function reported<T>(
  wait: Promise<T>,
  { clock, warn }: Pick<FormatContext, 'clock' | 'warn'>,
  topic: string,
): Promise<T> {
  const waitsFor = `the format of the records of ${topic}`
  const why = 'the promise of the format has not settled'
  const sinceMs = clock.nowMs()
  let isSaid = false
  const cancel = clock.after(FIRST_NOTICE_MS, () => {
    isSaid = true
    const message = `waiting for ${waitsFor} for ${FIRST_NOTICE_MS / 1000} s or more: ${why}; check what it fetches`
    warn?.(waitNotice('CONNECTOR_FAILED', message, { waitsFor, why, sinceMs }))
  })
  try {
    return await wait
  } finally {
    cancel()
    if (isSaid) warn?.(waitEndNotice('CONNECTOR_FAILED', `${waitsFor} has come`, waitsFor))
  }
}

/** Closes what was opened. */
export async function closeFormat<F extends (...args: never[]) => unknown>(
  format: F | OpeningFormat<F>,
): Promise<void> {
  if (typeof format !== 'function') await format.close?.()
}
