import { requireArgument, WeirError } from '../core/errors.ts'
import { msgpackSerializer } from '../core/formats/msgpack-serializer.ts'
import { flag } from '../core/options/kinds.ts'
import { serializer } from '../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import { refuseArgument } from '../core/text/refuse-argument.ts'
import { type FieldFoldParts, FieldFolds } from '../operators/basic/field-folds.ts'
import { aggregateFold, type Fold, reduceFold } from '../operators/folds/fold.ts'
import { type OutputTag, requireTag } from '../operators/port/output-tag.ts'
import type { Collector } from '../operators/process/function.ts'
import type { TimeWindow, WindowAssigner } from '../operators/windows/assigner.ts'
import type { Evictor } from '../operators/windows/evictor.ts'
import type { ProcessWindowFunction } from '../operators/windows/function.ts'
import type { Trigger } from '../operators/windows/trigger.ts'
import type { AggregateFunction } from '../state/port/descriptors.ts'
import { requireFunction } from './checks/function-argument.ts'
import { sampleOf } from './checks/function-factory.ts'
import { FUNCTION_USES } from './checks/function-uses.ts'
import {
  requireAggregate,
  requireAssigner,
  requireEvictor,
  requireTrigger,
} from './checks/window-argument.ts'
import type { DataStream } from './data-stream.ts'
import { type StreamOrigin, serializerOf } from './graph-draft.ts'
import type { NodeSpec } from './node-spec.ts'
import { type WindowResults, WindowStores } from './stores.ts'
import type { StreamFactory } from './stream-factory.ts'
import {
  createWindowOperator,
  type StoredFold,
  senderFold,
  type WindowPlan,
  windowsOfRecord,
} from './windows/plan.ts'

/** The keyed stream of which windows are made. */
export interface WindowedInput<K> {
  readonly factory: StreamFactory
  readonly origins: readonly StreamOrigin[]
  readonly keySerializer: Serializer<K>
  /** Encodes the records in state. */
  readonly serializer: Serializer<unknown>
  /** Whether one subtask has all records. */
  readonly single?: boolean
}

/** Options of `reduce` of windows. */
export interface ReduceOptions {
  /**
   * Whether the function may reduce parts of a window's records and then their results, which costs less: it gives the
   * same whatever the parts, and in sliding windows and sessions whatever their order. The job fails with NOT_ASSOCIATIVE
   * when a check finds that it does not. @default false
   */
  readonly associative?: boolean
}

const REDUCE: OptionShape<ReduceOptions> = { associative: flag }

/** Options of `aggregate` of windows. */
export interface AggregateOptions<ACC> {
  /** Encodes the accumulators in state. @default MessagePack */
  readonly serializer?: Serializer<ACC>
  /**
   * Whether `merge` of accumulators gives what `add` of all their records gives, in any order. Without it, `merge` is
   * called for sessions alone, as in Flink. The job fails with NOT_ASSOCIATIVE when a check finds that it does not.
   * @default true, unless merge throws
   */
  readonly associative?: boolean
}

const AGGREGATE: OptionShape<AggregateOptions<unknown>> = {
  serializer: serializer<unknown>(),
  associative: flag,
}

/** Makes results from all records of a window of a key (Flink's `WindowFunction`). */
export type WindowFunction<K, T, OUT> = (
  key: K,
  window: TimeWindow,
  elements: readonly T[],
  out: Collector<OUT>,
) => void

/** Makes results from all records of a window (Flink's `AllWindowFunction`). */
export type AllWindowFunction<T, OUT> = (
  window: TimeWindow,
  elements: readonly T[],
  out: Collector<OUT>,
) => void

/**
 * Streams in windows, with a key or without. A window fires at its end, fires again for each late record within the
 * allowed lateness, and is then cleared; `trigger` changes when it fires. The timestamp of a result is the last moment
 * of its window.
 */
abstract class StreamInWindows<K, T> extends FieldFolds<T, WindowResults<T>> {
  private readonly input: WindowedInput<K>
  private readonly assigner: WindowAssigner
  private allowedLatenessMs = 0
  private lateDataTag: OutputTag<T> | undefined
  private ownTrigger: Trigger<T> | undefined
  private ownEvictor: Evictor<T> | undefined

  constructor(input: WindowedInput<K>, assigner: WindowAssigner) {
    super()
    requireAssigner(assigner)
    this.input = input
    this.assigner = assigner
  }

  /**
   * Sets what decides when a window fires and when its contents are dropped, instead of the default trigger.
   * Throws INVALID_GRAPH for count windows, and for sessions where the trigger has no `onMerge`.
   */
  trigger(trigger: Trigger<T>): this {
    requireTrigger(trigger)
    requireTime(this.assigner, 'trigger')
    if (this.assigner.kind === 'session' && trigger.onMerge === undefined) {
      throw new WeirError(
        'INVALID_GRAPH',
        'the trigger has no onMerge(...), but sessions merge: write one, or use windows of fixed size',
      )
    }
    this.ownTrigger = trigger
    return this
  }

  /**
   * Sets what removes records from a window that fires. The window then keeps all its records, also for `reduce`
   * and `aggregate`. Throws INVALID_GRAPH for count windows.
   */
  evictor(evictor: Evictor<T>): this {
    requireEvictor(evictor)
    requireTime(this.assigner, 'evictor')
    this.ownEvictor = evictor
    return this
  }

  /** Keeps windows for this long after their end. Throws INVALID_ARGUMENT. */
  allowedLateness(latenessMs: number): this {
    requireArgument(
      Number.isSafeInteger(latenessMs) && latenessMs >= 0,
      `the allowed lateness is a whole number of ms from 0, not ${latenessMs}`,
    )
    if (this.assigner.timeDomain === 'processing-time' && latenessMs > 0) {
      throw new WeirError(
        'INVALID_GRAPH',
        'allowedLateness(...) has no meaning in processing time: use event-time windows, or leave it out',
      )
    }
    this.allowedLatenessMs = latenessMs
    return this
  }

  /** Sends records that are too late for their windows to a side output. Without this they are dropped. */
  sideOutputLateData(tag: OutputTag<T>): this {
    requireTag(tag, 'sideOutputLateData')
    this.lateDataTag = tag
    return this
  }

  /**
   * Reduces the records of a window to one of their type, one after the other, and emits it or what a window function makes
   * of it. The function and the options may come in either order.
   */
  reduce(reduce: (a: T, b: T) => T, options?: ReduceOptions): WindowResults<T>
  reduce<OUT>(
    reduce: (a: T, b: T) => T,
    options: ReduceOptions,
    createFunction: () => ProcessWindowFunction<K, T, OUT>,
  ): DataStream<OUT>
  reduce<OUT>(
    reduce: (a: T, b: T) => T,
    createFunction: () => ProcessWindowFunction<K, T, OUT>,
    options?: ReduceOptions,
  ): DataStream<OUT>
  reduce<OUT>(
    reduce: (a: T, b: T) => T,
    ...others: readonly OptionsOrFunction<ReduceOptions, K, T, OUT>[]
  ): WindowResults<T> | DataStream<OUT> {
    requireFunction(reduce, { ...FUNCTION_USES.reduceOfWindows, operator: this.name() })
    const { options, createFunction } = toldApart('reduce', REDUCE, others, this.name())
    const declaration =
      options.associative === true
        ? ({ parts: 'any-order', declared: 'reduce' } as const)
        : undefined
    const fold = reduceFold(reduce, declaration)
    return createFunction === undefined
      ? this.reduced(fold)
      : this.made(this.kept(fold), createFunction)
  }

  protected foldInParts(fold: (a: T, b: T) => T, parts: FieldFoldParts): WindowResults<T> {
    return this.reduced(reduceFold(fold, { parts }))
  }

  private reduced(fold: Fold<T, T>): WindowResults<T> {
    const serializer = this.input.serializer as Serializer<T>
    return this.folded<T>(this.kept(fold), serializer)
  }

  private kept(fold: Fold<T, T>): StoredFold<T> {
    return { fold: fold as Fold<T, unknown>, serializer: this.input.serializer }
  }

  /**
   * Folds the records of a window into an accumulator, and emits its result or what a window function makes of it. The
   * function and the options may come in either order.
   */
  aggregate<ACC, RESULT>(
    aggregate: AggregateFunction<T, ACC, RESULT>,
    options?: AggregateOptions<ACC>,
  ): WindowResults<RESULT>
  aggregate<ACC, RESULT, OUT>(
    aggregate: AggregateFunction<T, ACC, RESULT>,
    options: AggregateOptions<ACC>,
    createFunction: () => ProcessWindowFunction<K, RESULT, OUT>,
  ): DataStream<OUT>
  aggregate<ACC, RESULT, OUT>(
    aggregate: AggregateFunction<T, ACC, RESULT>,
    createFunction: () => ProcessWindowFunction<K, RESULT, OUT>,
    options?: AggregateOptions<ACC>,
  ): DataStream<OUT>
  aggregate<ACC, RESULT, OUT>(
    aggregate: AggregateFunction<T, ACC, RESULT>,
    ...others: readonly OptionsOrFunction<AggregateOptions<ACC>, K, RESULT, OUT>[]
  ): WindowResults<RESULT> | DataStream<OUT> {
    requireAggregate(aggregate)
    const shape = AGGREGATE as OptionShape<AggregateOptions<ACC>>
    const { options, createFunction } = toldApart('aggregate', shape, others, this.name())
    const { serializer = msgpackSerializer<ACC>(), associative } = options
    const fold = aggregateFold(aggregate, associative) as Fold<T, unknown>
    const stored = { fold, serializer: serializer as Serializer<unknown> }
    return createFunction === undefined
      ? this.folded<RESULT>(stored)
      : this.made(stored, createFunction)
  }

  /** Keeps all records of a window and passes them to a function when the window fires. */
  process<OUT>(createFunction: () => ProcessWindowFunction<K, T, OUT>): DataStream<OUT> {
    return this.made<OUT>(undefined, createFunction)
  }

  /** What a window function makes. */
  private made<OUT>(
    fold: StoredFold<T> | undefined,
    createFunction: () => ProcessWindowFunction<K, never, OUT>,
  ): DataStream<OUT> {
    const operator = this.name()
    sampleOf(createFunction, { call: 'process', operator, methods: ['process'] })
    return this.add<OUT>(this.plan(fold), createFunction, { sideOutputs: 'any' })
  }

  /** The results of a fold, which stores can read, too. */
  private folded<OUT>(fold: StoredFold<T>, serializer?: Serializer<OUT>): WindowResults<OUT> {
    const plan = this.plan(fold)
    const { lateDataTag: late } = this
    const { factory, single = false } = this.input
    const stores = new WindowStores<K, OUT>(plan, factory, single)
    const results = this.add<OUT>(plan, stores.windowFunction, {
      // Without a window function, only late data has a tag.
      sideOutputs: late === undefined ? [] : [late.id],
      ...(serializer === undefined ? {} : { serializer: serializer as Serializer<unknown> }),
    })
    return stores.of(results)
  }

  private add<OUT>(
    plan: WindowPlan<K, T>,
    createFunction: () => ProcessWindowFunction<K, never, OUT> | undefined,
    spec: Pick<NodeSpec, 'sideOutputs' | 'serializer'>,
  ): DataStream<OUT> {
    const { factory, origins } = this.input
    return factory.add(
      {
        name: this.name(),
        ...(this.input.single === true ? { parallelism: 1 } : {}),
        inputs: 1,
        needsKey: true,
        windowsOfRecord: windowsOfRecord(plan),
        needsEventTime: this.assigner.timeDomain === 'event-time',
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () => createWindowOperator<K, T>(plan, createFunction(), eventTime),
        }),
        ...spec,
      },
      [foldedAtSenders(origins, plan)],
    )
  }

  private name(): string {
    return this.input.single === true ? 'WindowAll' : 'Window'
  }

  private plan(fold: StoredFold<T> | undefined): WindowPlan<K, T> {
    return {
      keySerializer: this.input.keySerializer,
      serializer: this.input.serializer as Serializer<T>,
      assigner: this.assigner,
      allowedLatenessMs: this.allowedLatenessMs,
      lateDataTag: this.lateDataTag,
      trigger: this.ownTrigger,
      evictor: this.ownEvictor,
      fold,
    }
  }
}

/** A keyed stream in windows. */
export class WindowedStream<K, T> extends StreamInWindows<K, T> {
  /** As `process`, for a plain function without state of its own. Throws INVALID_ARGUMENT for what is none. */
  apply<OUT>(apply: WindowFunction<K, T, OUT>): DataStream<OUT> {
    requireFunction(apply, FUNCTION_USES.applyOfWindows)
    return this.process(() => ({
      process: (key, { window }, elements, out) => apply(key, window, elements, out),
    }))
  }
}

/** A stream in windows of all its records, which one subtask has. */
export class AllWindowedStream<T> extends StreamInWindows<number, T> {
  /** As `process`, for a plain function without state of its own. Throws INVALID_ARGUMENT for what is none. */
  apply<OUT>(apply: AllWindowFunction<T, OUT>): DataStream<OUT> {
    requireFunction(apply, FUNCTION_USES.applyOfAll)
    return this.process(() => ({
      process: (_, { window }, elements, out) => apply(window, elements, out),
    }))
  }
}

function requireTime({ kind }: WindowAssigner, what: 'trigger' | 'evictor'): void {
  if (kind !== 'count') return
  throw new WeirError(
    'INVALID_GRAPH',
    `a count window has no ${what}(...): use globalWindows() with a trigger such as countTrigger(n)`,
  )
}

/**
 * The outputs that windows read, folded by their senders where that changes no result.
 */
function foldedAtSenders<K, T>(
  origins: readonly StreamOrigin[],
  plan: WindowPlan<K, T>,
): readonly StreamOrigin[] {
  const fold = senderFold(plan)
  if (fold === undefined || !origins.every((origin) => canFold(origin, plan.serializer))) {
    return origins
  }
  return origins.map((origin) => ({
    ...origin,
    partitioning: { ...(origin.partitioning as HashPartitioning), fold },
  }))
}

type HashPartitioning = Extract<StreamOrigin['partitioning'], { readonly kind: 'hash' }>

function canFold(origin: StreamOrigin, records: Serializer<unknown>): boolean {
  const { partitioning } = origin
  return partitioning?.kind === 'hash' && !partitioning.inPlace && serializerOf(origin) === records
}

/** What follows the fold of windows, in either order. */
type OptionsOrFunction<O, K, IN, OUT> = O | (() => ProcessWindowFunction<K, IN, OUT>) | undefined

/** The options and the window function of a call. Throws INVALID_ARGUMENT for what is neither. */
function toldApart<O extends object, K, IN, OUT>(
  call: string,
  shape: OptionShape<O>,
  others: readonly OptionsOrFunction<O, K, IN, OUT>[],
  operator: string,
): {
  readonly options: Partial<O>
  readonly createFunction: (() => ProcessWindowFunction<K, IN, OUT>) | undefined
} {
  const createFunction = others.find((other) => typeof other === 'function')
  const [options = {}, further] = others.filter(
    (other) => other !== undefined && other !== createFunction,
  )
  for (const each of [options, further]) requireNoInstance(operator, each)
  checkOptions(call, shape, options)
  if (further !== undefined) refuseArgument(`${call}(...)`, further, 'options once')
  return { options: options as Partial<O>, createFunction }
}

/** Throws INVALID_ARGUMENT for a window function itself: each slot makes one of its own. */
function requireNoInstance(operator: string, given: unknown): void {
  const { process } = (given ?? {}) as { readonly process?: unknown }
  if (typeof process !== 'function') return
  const takes = 'a function that makes a window function, such as () => new MyFunction()'
  refuseArgument(`process(...) of operator "${operator}"`, given, takes)
}
