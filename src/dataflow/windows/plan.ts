import { copierOf, type Serializer } from '../../core/serializer.ts'
import { LocalFold } from '../../operators/folding/local-fold.ts'
import { SessionFold } from '../../operators/folding/session-fold.ts'
import type { Fold } from '../../operators/folds/fold.ts'
import type { SenderFold } from '../../operators/port/edge-fold.ts'
import { foldedPartSerializer } from '../../operators/port/folded-part.ts'
import type { StreamOperator } from '../../operators/port/operator.ts'
import type { OutputTag } from '../../operators/port/output-tag.ts'
import { AlignedWindowOperator } from '../../operators/windows/aligned-operator.ts'
import { assignedOf } from '../../operators/windows/assigned/assigners.ts'
import { CumulativeWindowOperator } from '../../operators/windows/assigned/cumulative-operator.ts'
import { AssignedWindowOperator } from '../../operators/windows/assigned/operator.ts'
import { checkedWindows } from '../../operators/windows/assigned/window-list.ts'
import {
  type AlignedWindows,
  canSlice,
  type WindowAssigner,
} from '../../operators/windows/assigner.ts'
import {
  FoldedContents,
  ListedContents,
  type SliceContents,
  type WindowContents,
} from '../../operators/windows/contents.ts'
import { CountWindowOperator } from '../../operators/windows/count-operator.ts'
import { type Evictor, timestampedSerializer } from '../../operators/windows/evictor.ts'
import type { ProcessWindowFunction } from '../../operators/windows/function.ts'
import type { WindowOptions } from '../../operators/windows/operator.ts'
import { SessionWindowOperator } from '../../operators/windows/session-operator.ts'
import { SlicedContents } from '../../operators/windows/sliced-contents.ts'
import { SlicedWindowOperator } from '../../operators/windows/sliced-operator.ts'
import { SlicedRecords } from '../../operators/windows/sliced-records.ts'
import {
  eventTimeTrigger,
  neverTrigger,
  processingTimeTrigger,
  type Trigger,
} from '../../operators/windows/trigger.ts'
import { TriggeredWindowOperator } from '../../operators/windows/triggered-operator.ts'

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
  const { keySerializer, serializer } = plan
  const options = {
    keySerializer,
    contents: contentsOf(plan),
    windowFunction: windowFunction as ProcessWindowFunction<K, unknown, unknown> | undefined,
    allowedLatenessMs: plan.allowedLatenessMs,
    lateDataTag: plan.lateDataTag,
    eventTime,
  }
  const assigner = runAs(plan)
  if (assigner.kind === 'count') {
    return new CountWindowOperator(assigner, options, { serializer, fold: plan.fold?.fold })
  }
  if (assigner.kind === 'cumulative') return new CumulativeWindowOperator<K, T>(assigner, options)
  if (plan.trigger !== undefined || plan.evictor !== undefined || assigner.kind === 'global') {
    return createTriggered(plan, assigner, options)
  }
  if (assigner.kind === 'session') return new SessionWindowOperator<K, T>(assigner, options)
  if (assigner.kind === 'assigned') return new AssignedWindowOperator<K, T>(assigner, options)
  const contents = slicesOf(plan, assigner)
  return contents === undefined
    ? new AlignedWindowOperator<K, T>(assigner, options)
    : new SlicedWindowOperator<K, T>(assigner, { ...options, contents })
}

/**
 * The windows of a plan as its operator has them. Cumulative ones pass their contents on only where nothing looks at a window
 * again and their parts may be merged; others are assigned to all windows of a record.
 */
function runAs<K, T>({ assigner, ...plan }: WindowPlan<K, T>): WindowAssigner {
  if (assigner.kind === 'assigned') return checkedWindows(assigner)
  if (assigner.kind !== 'cumulative' || passesOn({ assigner, ...plan })) return assigner
  return assignedOf(assigner)
}

/** Whether cumulative windows of a plan pass their contents on. */
function passesOn<K, T>({
  assigner,
  trigger,
  evictor,
  allowedLatenessMs,
  fold,
}: WindowPlan<K, T>): boolean {
  const isPlain = trigger === undefined && evictor === undefined && allowedLatenessMs === 0
  const mayMerge = fold === undefined || fold.fold.parts === 'any-order'
  return isPlain && mayMerge && assigner.timeDomain === 'event-time'
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
export function windowsOfRecord<K, T>(plan: WindowPlan<K, T>): number {
  const { assigner, trigger, evictor, fold } = plan
  if (assigner.kind === 'cumulative') {
    return passesOn(plan) ? 1 : assigner.maxSizeMs / assigner.stepMs
  }
  if (assigner.kind !== 'aligned') return 1
  const isPlain = trigger === undefined && evictor === undefined
  if (isPlain && fold?.fold.parts === 'any-order' && canSlice(assigner)) return 1
  return Math.ceil(assigner.sizeMs / assigner.slideMs)
}

function createTriggered<K, T>(
  { trigger, evictor, fold }: WindowPlan<K, T>,
  windows: Exclude<WindowAssigner, { kind: 'count' | 'cumulative' }>,
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
