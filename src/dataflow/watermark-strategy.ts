import {
  aFunction,
  milliseconds,
  name,
  positiveMilliseconds,
  required,
} from '../core/options/kinds.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../core/options/shape.ts'
import { refuseArgument } from '../core/text/refuse-argument.ts'
import type { WatermarkGenerator } from '../operators/port/watermark-generator.ts'
import { requireFunction } from './checks/function-argument.ts'

/** The event time of records, and how watermarks follow it in each source partition. */
export interface WatermarkStrategy<T> {
  /** Event time of a record in ms; `recordTimestamp` is the source's own, -1 if none. */
  readonly timestampOf: (value: T, recordTimestamp: number) => number
  /** The watermark is the largest timestamp seen minus this minus one; undefined: see `createGenerator`. */
  readonly outOfOrdernessMs: number | undefined
  /** Time without records after which a partition no longer holds the watermark back, ms. */
  readonly idleAfterMs: number | undefined
  /** Makes what decides the watermarks of a partition; without it and a bound there are none. */
  readonly createGenerator?: (() => WatermarkGenerator<T>) | undefined
  /** Holds sources back whose event time is too far before that of others. */
  readonly alignment?: WatermarkAlignment | undefined
}

/**
 * The bound between the event times of sources: a subtask of a source whose watermark is more than `maxDriftMs`
 * ahead of the smallest one of its group reads no more until the others have come nearer.
 */
export interface WatermarkAlignment {
  /** Name of the group: the sources of the job that name it wait for each other. */
  readonly group: string
  /** Most that a watermark may be ahead of the smallest one of the group, ms. */
  readonly maxDriftMs: number
  /** Time between two looks at the watermarks, ms. @default 1000 */
  readonly updateIntervalMs?: number
}

/** Options of watermarks. */
export interface WatermarkOptions<T> {
  /** @default the source's own timestamp */
  readonly timestampOf?: (value: T, recordTimestamp: number) => number
  /** As Flink's `withIdleness`. @default a partition never becomes idle */
  readonly idleAfterMs?: number
  /** As Flink's `withWatermarkAlignment`; for sources. @default sources do not wait for each other */
  readonly alignment?: WatermarkAlignment
}

const WATERMARKS: OptionShape<WatermarkOptions<unknown>> = {
  timestampOf: aFunction(),
  idleAfterMs: positiveMilliseconds,
  alignment: nested<WatermarkAlignment>({
    group: required(name),
    maxDriftMs: required(milliseconds),
    updateIntervalMs: positiveMilliseconds,
  }),
}

/** No event time: the source sets the timestamps, and there are no watermarks. */
export function noWatermarks<T>(): WatermarkStrategy<T> {
  return { timestampOf: (_, own) => own, outOfOrdernessMs: undefined, idleAfterMs: undefined }
}

/** Watermarks that tolerate records up to `maxOutOfOrdernessMs` late. Throws INVALID_ARGUMENT. */
export function boundedOutOfOrderness<T>(
  maxOutOfOrdernessMs: number,
  options: WatermarkOptions<T> = {},
): WatermarkStrategy<T> {
  checkArgument('a watermark strategy', 'maxOutOfOrdernessMs', milliseconds, maxOutOfOrdernessMs)
  return { ...checked(options), outOfOrdernessMs: maxOutOfOrdernessMs }
}

/** Watermarks for timestamps that never decrease within a partition. */
export function monotonousTimestamps<T>(options: WatermarkOptions<T> = {}): WatermarkStrategy<T> {
  return boundedOutOfOrderness(0, options)
}

/**
 * Watermarks of one's own, also punctuated ones; `createGenerator` makes a generator for every partition of a
 * source, or for every subtask in the middle of a stream. As Flink's `forGenerator`. Throws INVALID_ARGUMENT.
 */
export function generatedWatermarks<T>(
  createGenerator: () => WatermarkGenerator<T>,
  options: WatermarkOptions<T> = {},
): WatermarkStrategy<T> {
  checkArgument('a watermark strategy', 'createGenerator', aFunction(), createGenerator)
  return { ...checked(options), outOfOrdernessMs: undefined, createGenerator }
}

/** Whether the strategy makes watermarks at all. */
export function makesWatermarks(
  strategy: Pick<WatermarkStrategy<never>, 'outOfOrdernessMs' | 'createGenerator'>,
): boolean {
  return strategy.outOfOrdernessMs !== undefined || strategy.createGenerator !== undefined
}

function checked<T>(
  options: WatermarkOptions<T>,
): Pick<WatermarkStrategy<T>, 'timestampOf' | 'idleAfterMs' | 'alignment'> {
  requireOptions(options)
  checkOptions('a watermark strategy', WATERMARKS, options)
  const { timestampOf = (_, own) => own, idleAfterMs, alignment } = options
  return alignment === undefined
    ? { timestampOf, idleAfterMs }
    : { timestampOf, idleAfterMs, alignment }
}

/** Throws INVALID_ARGUMENT for the function alone, without which all records would have no time. */
function requireOptions(options: unknown): void {
  const takes = 'options: { timestampOf: (record) => record.time }'
  if (typeof options !== 'object' || options === null)
    refuseArgument('a watermark strategy', options, takes)
  const { timestampOf } = options as WatermarkOptions<unknown>
  if (timestampOf === undefined) return
  requireFunction(timestampOf, {
    call: 'timestampOf',
    operator: 'watermark strategy',
    example: takes,
  })
}
