import { WeirError } from '../core/errors.ts'
import { positiveMilliseconds, required } from '../core/options/kinds.ts'
import { serializer as serializerKind } from '../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../core/options/shape.ts'
import {
  copierOf,
  float64Serializer,
  int53Serializer,
  type Serializer,
  stringSerializer,
} from '../core/serializer.ts'
import { LocalFold } from '../operators/folding/local-fold.ts'
import { SessionFold } from '../operators/folding/session-fold.ts'
import type { Fold } from '../operators/folds/fold.ts'
import { foldedPartSerializer } from '../operators/port/folded-part.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import { OutputTag } from '../operators/port/output-tag.ts'
import { KeyedProcessOperator } from '../operators/process/keyed-process.ts'
import { type WindowResult, windowResultSerializer } from '../operators/stores/window-result.ts'
import { StoredResults, WindowStore } from '../operators/stores/window-store.ts'
import { AlignedWindowOperator } from '../operators/windows/aligned-operator.ts'
import {
  type AlignedWindows,
  canSlice,
  type WindowAssigner,
} from '../operators/windows/assigner.ts'
import {
  FoldedContents,
  ListedContents,
  type SliceContents,
  type WindowContents,
} from '../operators/windows/contents.ts'
import { CountWindowOperator } from '../operators/windows/count-operator.ts'
import { type Evictor, timestampedSerializer } from '../operators/windows/evictor.ts'
import type { ProcessWindowFunction } from '../operators/windows/function.ts'
import type { WindowOptions } from '../operators/windows/operator.ts'
import { SessionWindowOperator } from '../operators/windows/session-operator.ts'
import { SlicedContents } from '../operators/windows/sliced-contents.ts'
import { SlicedWindowOperator } from '../operators/windows/sliced-operator.ts'
import { SlicedRecords } from '../operators/windows/sliced-records.ts'
import {
  eventTimeTrigger,
  neverTrigger,
  processingTimeTrigger,
  type Trigger,
} from '../operators/windows/trigger.ts'
import { TriggeredWindowOperator } from '../operators/windows/triggered-operator.ts'
import { valueState } from '../state/port/descriptors.ts'
import { requireName } from './checks/name-argument.ts'
import type { DataStream } from './data-stream.ts'
import { hashed } from './graph-draft.ts'
import { type PlainKey, plainKeySerializer } from './key-serializer.ts'
import { DataStreamSink } from './node-settings.ts'
import type { StreamFactory } from './stream-factory.ts'
import type { SenderFold } from './stream-graph.ts'

/** A fold and the format of its accumulator in state. */
export interface StoredFold<T> {
  readonly fold: Fold<T, unknown>
  readonly serializer: Serializer<unknown>
}

/** All that a stream in windows says about its operator. */
export interface WindowPlan<K, T> {
  readonly keySerializer: Serializer<K>
  /** Encodes the records in state. */
  readonly serializer: Serializer<T>
  readonly assigner: WindowAssigner
  readonly allowedLatenessMs: number
  readonly lateDataTag: OutputTag<T> | undefined
  /** Undefined for the default trigger of the windows. */
  readonly trigger: Trigger<T> | undefined
  readonly evictor: Evictor<T> | undefined
  /** Undefined where a window keeps all its records. */
  readonly fold: StoredFold<T> | undefined
}

/** The operator of a plan; `eventTime`: whether watermarks reach it. */
export function createWindowOperator<K, T>(
  plan: WindowPlan<K, T>,
  windowFunction: ProcessWindowFunction<K, never, unknown> | undefined,
  eventTime: boolean,
): StreamOperator {
  const { assigner, keySerializer, serializer } = plan
  const options = {
    keySerializer,
    contents: contentsOf(plan),
    windowFunction: windowFunction as ProcessWindowFunction<K, unknown, unknown> | undefined,
    allowedLatenessMs: plan.allowedLatenessMs,
    lateDataTag: plan.lateDataTag,
    eventTime,
  }
  if (assigner.kind === 'count') {
    return new CountWindowOperator(assigner, options, { serializer, fold: plan.fold?.fold })
  }
  if (plan.trigger !== undefined || plan.evictor !== undefined || assigner.kind === 'global') {
    return createTriggered(plan, assigner, options)
  }
  if (assigner.kind === 'session') return new SessionWindowOperator<K, T>(assigner, options)
  const contents = slicesOf(plan, assigner)
  return contents === undefined
    ? new AlignedWindowOperator<K, T>(assigner, options)
    : new SlicedWindowOperator<K, T>(assigner, { ...options, contents })
}

/** The contents of windows that can share slices; undefined for others. */
function slicesOf<K, T>(
  { fold, serializer, allowedLatenessMs: latenessMs }: WindowPlan<K, T>,
  windows: AlignedWindows,
): SliceContents<T> | undefined {
  if (!canSlice(windows)) return undefined
  if (fold === undefined) {
    // A window that fires looks at all records of its key, those of late windows too.
    const isShort = latenessMs <= windows.sizeMs
    return isShort ? new SlicedRecords({ ...windows, latenessMs }, serializer) : undefined
  }
  return fold.fold.parts === 'any-order'
    ? new SlicedContents(fold.fold, fold.serializer, serializer)
    : undefined
}

/** Windows to which the operator of a plan adds each record; in slices, it adds a record to one. */
export function windowsOfRecord<K, T>({
  assigner,
  trigger,
  evictor,
  fold,
}: WindowPlan<K, T>): number {
  if (assigner.kind !== 'aligned') return 1
  const isPlain = trigger === undefined && evictor === undefined
  if (isPlain && fold?.fold.parts === 'any-order' && canSlice(assigner)) return 1
  return Math.ceil(assigner.sizeMs / assigner.slideMs)
}

function createTriggered<K, T>(
  { trigger, evictor, fold }: WindowPlan<K, T>,
  windows: Exclude<WindowAssigner, { kind: 'count' }>,
  options: Omit<WindowOptions<K, T>, 'timeDomain'>,
): StreamOperator {
  return new TriggeredWindowOperator<K, T>({
    ...options,
    windows,
    trigger: trigger ?? defaultTrigger(windows),
    eviction: evictor === undefined ? undefined : { evictor, fold: fold?.fold },
  })
}

function defaultTrigger({ kind, timeDomain }: WindowAssigner): Trigger<unknown> {
  if (kind === 'global') return neverTrigger()
  return timeDomain === 'event-time' ? eventTimeTrigger() : processingTimeTrigger()
}

function contentsOf<K, T>({ evictor, fold, serializer }: WindowPlan<K, T>): WindowContents<T> {
  if (evictor !== undefined) {
    return new ListedContents(timestampedSerializer(serializer)) as unknown as WindowContents<T>
  }
  return fold === undefined
    ? new ListedContents(serializer)
    : new FoldedContents(fold.fold, fold.serializer)
}

/**
 * The fold that senders of a plan's records may apply without a change of any result: of windows of fixed size and of
 * sessions, with the default trigger, no allowed lateness and a fold whose author declared its parts.
 */
export function senderFold<K, T>(plan: WindowPlan<K, T>): SenderFold | undefined {
  const { assigner, fold, serializer, keySerializer } = plan
  if (fold === undefined || !sendsParts(assigner, fold.fold)) return undefined
  // A late record fires its window again, one by one; a side output gets late records, not parts of them.
  if (plan.allowedLatenessMs > 0 || plan.lateDataTag !== undefined) return undefined
  if (plan.trigger !== undefined || plan.evictor !== undefined) return undefined
  if (copierOf(serializer) === undefined || copierOf(fold.serializer) === undefined) {
    return undefined
  }
  const records = serializer as Serializer<unknown>
  const options = {
    fold: fold.fold,
    keySerializer: keySerializer as Serializer<unknown>,
    records: serializer,
    sums: fold.serializer,
  }
  return {
    serializer: foldedPartSerializer(records, fold.serializer),
    create: (reusesObjects) =>
      assigner.kind === 'session'
        ? new SessionFold<T, unknown>({ ...options, reusesObjects, windows: assigner })
        : new LocalFold<T, unknown>({
            ...options,
            reusesObjects,
            windows: assigner as AlignedWindows,
          }),
  }
}

/**
 * Whether parts of a sender's records give what the records give: each belongs to one window, or its slice. The parts of
 * slices and sessions meet in another order than their records.
 */
function sendsParts(assigner: WindowAssigner, { parts }: Fold<never, unknown>): boolean {
  if (parts === 'never') return false
  if (assigner.kind === 'session') return parts === 'any-order'
  if (assigner.kind !== 'aligned') return false
  if (assigner.slideMs === assigner.sizeMs) return true
  return parts === 'any-order' && canSlice(assigner)
}

/** Options of `asQueryableState` of the results of windows. */
export interface WindowStoreOptions<R> {
  /** How long a result stays readable after the end of its window, in ms of the time of the windows. */
  readonly retainMs: number
  /** Encodes the results in state. @default that of the stream */
  readonly serializer?: Serializer<R>
}

const WINDOW_STORE: OptionShape<WindowStoreOptions<unknown>> = {
  retainMs: required(positiveMilliseconds),
  serializer: serializerKind<unknown>(),
}

/** The results of a fold of windows: a stream that clients can also read by key and window. */
export interface WindowResults<R> extends DataStream<R> {
  /**
   * Lets clients query the results under `queryableName`, each by the key and the start of its window:
   * `client.get(name, [key, windowStart])`, and of windows of all records `client.get(name, windowStart)`. A result that is
   * there when its window fires again is replaced. Throws INVALID_ARGUMENT, and INVALID_GRAPH for windows without a
   * start that stays: count windows, global windows, and sessions that fire more than once.
   */
  asQueryableState(queryableName: string, options: WindowStoreOptions<R>): DataStreamSink
}

/** The side output of windows that stores read. Each edge has a serializer of its own. */
const STORED = new OutputTag<WindowResult<unknown, unknown>>('weir-window-results')

/** What a store must know of windows. */
interface StoredWindows<K>
  extends Pick<WindowPlan<K, unknown>, 'keySerializer' | 'assigner' | 'allowedLatenessMs'> {
  readonly trigger: object | undefined
}

/** The stores of the results of one stream in windows, which may get some until the graph is complete. */
export class WindowStores<K, R> {
  private readonly plan: StoredWindows<K>
  private readonly factory: StreamFactory
  private readonly isOfAll: boolean
  private isAsked = false

  /** `isOfAll`: whether the windows are of all records, so that their results have no key. */
  constructor(plan: StoredWindows<K>, factory: StreamFactory, isOfAll: boolean) {
    this.plan = plan
    this.factory = factory
    this.isOfAll = isOfAll
  }

  /** The window function, where there are stores. */
  readonly windowFunction = (): StoredResults<K, R> | undefined =>
    this.isAsked ? new StoredResults<K, R>(STORED) : undefined

  /** The results with the call that adds a store. */
  of(stream: DataStream<R>): WindowResults<R> {
    return Object.assign(stream, {
      asQueryableState: (queryableName: string, options: WindowStoreOptions<R>) =>
        this.add(stream, queryableName, options),
    })
  }

  private add(
    stream: DataStream<R>,
    queryableName: string,
    options: WindowStoreOptions<R>,
  ): DataStreamSink {
    requireName(queryableName, 'asQueryableState')
    checkOptions('asQueryableState', WINDOW_STORE as OptionShape<WindowStoreOptions<R>>, options)
    requireStarts(queryableName, this.plan)
    const { keySerializer, assigner } = this.plan
    if (!PLAIN_KEYS.includes(keySerializer.id)) throw otherKeys(queryableName, keySerializer.id)
    const { node } = stream.origins[0]!
    const results = options.serializer ?? (node.serializer as Serializer<R>)
    const descriptor = {
      ...valueState<R>('results', { serializer: results, queryableName }),
      queryableKeys: this.isOfAll ? 'window' : 'key-and-window',
    } as const
    const { timeDomain } = assigner
    const { retainMs } = options
    const tag = new OutputTag(STORED.id, windowResultSerializer(keySerializer, results))
    const origin = { node, tag: tag as OutputTag<unknown>, partitioning: undefined }
    const selector = this.isOfAll
      ? ({ start }: WindowResult<PlainKey, R>): PlainKey => start
      : ({ key, start }: WindowResult<PlainKey, R>): PlainKey => [key, start]
    const keys = plainKeySerializer()
    this.isAsked = true
    const store = this.factory.draft.addNode(
      {
        name: `Queryable: ${queryableName}`,
        inputs: 1,
        needsKey: true,
        isSink: true,
        isStore: true,
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () =>
            new KeyedProcessOperator(
              new WindowStore<K, R>({ descriptor, timeDomain, retainMs }),
              keys,
              eventTime,
            ),
        }),
      },
      [hashed([origin], { selector, serializer: keys })],
    )
    return new DataStreamSink(store)
  }
}

/** Ids of serializers whose keys can be a part of a tuple. */
const PLAIN_KEYS: readonly string[] = [
  plainKeySerializer().id,
  stringSerializer.id,
  int53Serializer.id,
  float64Serializer.id,
]

function otherKeys(queryableName: string, format: string): WeirError {
  return new WeirError(
    'INVALID_GRAPH',
    `asQueryableState("${queryableName}") of windows stores results by key and start of the window, but the keys have the serializer "${format}": let keyBy give texts, numbers, booleans or tuples`,
  )
}

/** Throws INVALID_GRAPH for windows whose start says nothing, or changes after a result. */
function requireStarts(
  queryableName: string,
  { assigner: { kind }, trigger, allowedLatenessMs }: Omit<StoredWindows<unknown>, 'keySerializer'>,
): void {
  const call = `asQueryableState("${queryableName}")`
  if (kind === 'count' || kind === 'global') {
    throw new WeirError(
      'INVALID_GRAPH',
      `${call} stores results by the start of their window, which ${kind} windows do not have: use keyBy(...).asQueryableState(...) of the results, which keeps the latest of each key`,
    )
  }
  if (kind === 'session' && (trigger !== undefined || allowedLatenessMs > 0)) {
    throw new WeirError(
      'INVALID_GRAPH',
      `${call} stores results by the start of their window, but sessions with a trigger or with allowed lateness may begin earlier after a result: leave these out, or use windows of fixed size`,
    )
  }
}
