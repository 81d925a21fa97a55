import { requireArgument, WeirError } from '../core/errors.ts'
import { msgpackSerializer, type Serializer } from '../core/serializer.ts'
import { AlignedWindowOperator } from '../operators/aligned-window-operator.ts'
import type { StreamOperator } from '../operators/operator.ts'
import type { OutputTag } from '../operators/output-tag.ts'
import { SessionWindowOperator } from '../operators/session-window-operator.ts'
import type { WindowAssigner } from '../operators/window-assigner.ts'
import {
  aggregateFold,
  FoldedContents,
  ListedContents,
  reduceFold,
  type WindowContents,
} from '../operators/window-contents.ts'
import type { ProcessWindowFunction } from '../operators/window-operator.ts'
import type { AggregateFunction } from '../state/descriptors.ts'
import { type DataStream, streamOf } from './data-stream.ts'
import type { GraphDraft, StreamOrigin } from './graph-draft.ts'

/** What a windowed stream is made from. */
export interface WindowedInput<K> {
  readonly draft: GraphDraft
  readonly origins: readonly StreamOrigin[]
  readonly keySerializer: Serializer<K>
  /** Encodes the records in state. */
  readonly serializer: Serializer<unknown>
}

/**
 * A keyed stream cut into windows. A window fires when its time has passed, again with each record
 * within the allowed lateness, and is then cleared. Results carry the last moment of the window.
 */
export class WindowedStream<K, T> {
  private readonly input: WindowedInput<K>
  private readonly assigner: WindowAssigner
  private allowedLatenessMs = 0
  private lateDataTag: OutputTag<T> | undefined

  constructor(input: WindowedInput<K>, assigner: WindowAssigner) {
    this.input = input
    this.assigner = assigner
  }

  /** Keeps windows for so long after their end. Throws INVALID_ARGUMENT. */
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

  /** Sends records too late for their windows to a side output, instead of dropping them. */
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

  /** Folds the records of a window into an accumulator, whose result is emitted. */
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

  /** Keeps all records of a window and hands them to a function when it fires. */
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
    const { draft, origins } = this.input
    const create = (): StreamOperator => this.createOperator(contents(), createFunction?.())
    const node = draft.addNode(
      {
        name: 'Window',
        inputs: 1,
        needsKey: true,
        needsEventTime: this.assigner.timeDomain === 'event-time',
        sideOutputs: this.sideOutputs(createFunction !== undefined),
        body: () => ({ kind: 'operator', create }),
        ...(serializer === undefined ? {} : { serializer }),
      },
      [origins],
    )
    return streamOf<OUT>(draft, node)
  }

  /** A window function may emit to any tag; without one there is only the late data. */
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
    return this.assigner.kind === 'session'
      ? new SessionWindowOperator<K, T>(this.assigner, options)
      : new AlignedWindowOperator<K, T>(this.assigner, options)
  }
}
