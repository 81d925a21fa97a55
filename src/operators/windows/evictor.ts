import { requireArgument, WeirError } from '../../core/errors.ts'
import { aFunction, flag, numberIn } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import {
  type EvolvingSerializer,
  readerOfHolder,
  type Serializer,
  type ValueReader,
} from '../../core/serializer.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import type { TimeWindow } from './assigner.ts'

/** A record of a window with its event time, -1 without one. */
export interface TimestampedValue<T> {
  readonly value: T
  readonly timestamp: number
}

/** Time of an evictor. */
export interface EvictorContext {
  readonly currentWatermark: number
  /** Wall-clock time in ms. */
  readonly currentProcessingTime: number
}

/**
 * Removes records from a window that fires, before or after its function. Both methods get the records in the
 * order in which they came, and return those that stay: the others leave the window's state.
 */
export interface Evictor<T> {
  evictBefore?(
    elements: readonly TimestampedValue<T>[],
    window: TimeWindow,
    context: EvictorContext,
  ): readonly TimestampedValue<T>[]
  evictAfter?(
    elements: readonly TimestampedValue<T>[],
    window: TimeWindow,
    context: EvictorContext,
  ): readonly TimestampedValue<T>[]
}

/** Where the built-in evictors work. */
export interface EvictorOptions {
  /** Whether to remove after the function instead of before it. @default false */
  readonly after?: boolean
}

type Keep<T> = (elements: readonly TimestampedValue<T>[]) => readonly TimestampedValue<T>[]

const EVICTOR: OptionShape<EvictorOptions> = { after: flag }

function evictorOf<T>(keep: Keep<T>, options: EvictorOptions): Evictor<T> {
  checkOptions('an evictor', EVICTOR, options)
  const { after = false } = options
  return after ? { evictAfter: keep } : { evictBefore: keep }
}

/** Keeps the last `count` records of a window. Throws INVALID_ARGUMENT. */
export function countEvictor<T>(count: number, options: EvictorOptions = {}): Evictor<T> {
  requireArgument(
    Number.isSafeInteger(count) && count > 0,
    `the count of an evictor is a whole number above 0, not ${count}`,
  )
  return evictorOf((elements) => elements.slice(-count), options)
}

/**
 * Keeps the records that are younger than `keptMs` in event time, counted from the newest one. Records without
 * timestamps all stay. Throws INVALID_ARGUMENT.
 */
export function timeEvictor<T>(keptMs: number, options: EvictorOptions = {}): Evictor<T> {
  requireArgument(
    Number.isSafeInteger(keptMs) && keptMs > 0,
    `the time of an evictor is a whole number of ms above 0, not ${keptMs}`,
  )
  return evictorOf((elements) => {
    if (elements[0]?.timestamp === NO_TIMESTAMP) return elements
    let newest = Number.NEGATIVE_INFINITY
    for (const { timestamp } of elements) newest = Math.max(newest, timestamp)
    return elements.filter(({ timestamp }) => timestamp > newest - keptMs)
  }, options)
}

/** The distance that a function of the user gave. Throws INVALID_ARGUMENT for what is no number. */
export function requireDelta(delta: unknown): number {
  if (typeof delta === 'number') return delta
  refusePromise(delta, 'the delta function')
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the delta function returned ${describeValue(delta)}: return the distance of two records, a number`,
  )
}

/** Keeps the records whose distance to the last one is below `threshold`. */
export function deltaEvictor<T>(
  threshold: number,
  deltaOf: (record: T, last: T) => number,
  options: EvictorOptions = {},
): Evictor<T> {
  checkArgument('deltaEvictor', 'threshold', numberIn(), threshold)
  checkArgument('deltaEvictor', 'deltaOf', aFunction(), deltaOf)
  return evictorOf((elements) => {
    const last = elements.at(-1)
    if (last === undefined) return elements
    return elements.filter(({ value }) => requireDelta(deltaOf(value, last.value)) < threshold)
  }, options)
}

/** The serializer of a window's records with their timestamps, from that of the records. */
export function timestampedSerializer<T>(
  values: Serializer<T>,
): EvolvingSerializer<TimestampedValue<T>> {
  const name = 'timestamped/1'
  const wrap = (read: ValueReader<T>): ValueReader<TimestampedValue<T>> => {
    return (reader) => {
      const timestamp = reader.int53()
      return { value: read(reader), timestamp }
    }
  }
  return {
    id: `${name}(${values.id})`,
    write: ({ value, timestamp }, writer) => {
      writer.int53(timestamp)
      values.write(value, writer)
    },
    read: wrap((reader) => values.read(reader)),
    readerOf: (storedId) => readerOfHolder(values, { name, storedId }, wrap),
  }
}
