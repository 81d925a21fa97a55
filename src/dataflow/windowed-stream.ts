import { requireArgument, WeirError } from '../core/errors.ts'
import { msgpackSerializer } from '../core/formats/msgpack-serializer.ts'
import type { Serializer } from '../core/serializer.ts'
import { FieldFolds } from '../operators/basic/field-folds.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import type { OutputTag } from '../operators/port/output-tag.ts'
import { AlignedWindowOperator } from '../operators/windows/aligned-operator.ts'
import type { WindowAssigner } from '../operators/windows/assigner.ts'
import {
  aggregateFold,
  FoldedContents,
  ListedContents,
  reduceFold,
  type WindowContents,
} from '../operators/windows/contents.ts'
import { CountWindowOperator } from '../operators/windows/count-operator.ts'
import type { ProcessWindowFunction } from '../operators/windows/operator.ts'
import { SessionWindowOperator } from '../operators/windows/session-operator.ts'
import type { AggregateFunction } from '../state/port/descriptors.ts'
import type { DataStream } from './data-stream.ts'
import type { StreamOrigin } from './graph-draft.ts'
import type { StreamFactory } from './stream-factory.ts'

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

/**
 * A keyed stream in windows. A window fires at its end, fires again for each late record within the allowed
 * lateness, and is then cleared. The timestamp of a result is the last moment of its window.
 */
export class WindowedStream<K, T> extends FieldFolds<T, DataStream<T>> {
  private readonly input: WindowedInput<K>
  private readonly assigner: WindowAssigner
  private allowedLatenessMs = 0
  private lateDataTag: OutputTag<T> | undefined

  constructor(input: WindowedInput<K>, assigner: WindowAssigner) {
    super()
    this.input = input
    this.assigner = assigner
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
    this.lateDataTag = tag
    return this
  }

  /** Reduces the records of a window to one of their type. */
  reduce(reduce: (a: T, b: T) => T): DataStream<T>
  reduce<OUT>(
    reduce: (a: T, b: T) => T,
    createFunction: () => ProcessWindowFunction<K, T, OUT>,
  ): DataStream<OUT>
  reduce<OUT>(
    reduce: (a: T, b: T) => T,
    createFunction?: () => ProcessWindowFunction<K, T, OUT>,
  ): DataStream<T> | DataStream<OUT> {
    const serializer = this.input.serializer as Serializer<T>
    return this.add<OUT>(
      () => new FoldedContents(reduceFold(reduce), serializer),
      createFunction,
      createFunction === undefined ? this.input.serializer : undefined,
    )
  }

  /** Folds the records of a window into an accumulator and emits its result. */
  aggregate<ACC, RESULT>(
    aggregate: AggregateFunction<T, ACC, RESULT>,
    options?: { readonly serializer?: Serializer<ACC> },
  ): DataStream<RESULT>
  aggregate<ACC, RESULT, OUT>(
    aggregate: AggregateFunction<T, ACC, RESULT>,
    options: { readonly serializer?: Serializer<ACC> },
    createFunction: () => ProcessWindowFunction<K, RESULT, OUT>,
  ): DataStream<OUT>
  aggregate<ACC, RESULT, OUT>(
    aggregate: AggregateFunction<T, ACC, RESULT>,
    options: { readonly serializer?: Serializer<ACC> } = {},
    createFunction?: () => ProcessWindowFunction<K, RESULT, OUT>,
  ): DataStream<RESULT> | DataStream<OUT> {
    const serializer = options.serializer ?? msgpackSerializer<ACC>()
    return this.add<OUT>(
      () => new FoldedContents(aggregateFold(aggregate), serializer),
      createFunction,
    )
  }

  /** Keeps all records of a window and passes them to a function when the window fires. */
  process<OUT>(createFunction: () => ProcessWindowFunction<K, T, OUT>): DataStream<OUT> {
    return this.add<OUT>(
      () => new ListedContents(this.input.serializer as Serializer<T>),
      createFunction,
    )
  }

  private add<OUT>(
    contents: () => WindowContents<T>,
    createFunction: (() => ProcessWindowFunction<K, never, OUT>) | undefined,
    serializer?: Serializer<unknown>,
  ): DataStream<OUT> {
    const { factory, origins } = this.input
    const create = (): StreamOperator => this.createOperator(contents(), createFunction?.())
    return factory.add(
      {
        name: this.input.single === true ? 'WindowAll' : 'Window',
        ...(this.input.single === true ? { parallelism: 1 } : {}),
        inputs: 1,
        needsKey: true,
        needsEventTime: this.assigner.timeDomain === 'event-time',
        sideOutputs: this.sideOutputs(createFunction !== undefined),
        body: () => ({ kind: 'operator', create }),
        ...(serializer === undefined ? {} : { serializer }),
      },
      [origins],
    )
  }

  /** A window function can emit to any tag. Without one, only late data has a tag. */
  private sideOutputs(hasFunction: boolean): readonly string[] | 'any' {
    if (hasFunction) return 'any'
    return this.lateDataTag === undefined ? [] : [this.lateDataTag.id]
  }

  private createOperator(
    contents: WindowContents<T>,
    windowFunction: ProcessWindowFunction<K, never, unknown> | undefined,
  ): StreamOperator {
    const options = {
      keySerializer: this.input.keySerializer,
      contents,
      windowFunction: windowFunction as ProcessWindowFunction<K, unknown, unknown> | undefined,
      allowedLatenessMs: this.allowedLatenessMs,
      lateDataTag: this.lateDataTag,
    }
    const { assigner } = this
    switch (assigner.kind) {
      case 'session':
        return new SessionWindowOperator<K, T>(assigner, options)
      case 'count':
        return new CountWindowOperator(assigner, options, this.input.serializer as Serializer<T>)
      case 'aligned':
        return new AlignedWindowOperator<K, T>(assigner, options)
    }
  }
}
