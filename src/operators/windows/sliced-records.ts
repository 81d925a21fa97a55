import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { copierOf, type Serializer } from '../../core/serializer.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
import { type ListStateDescriptor, listState } from '../../state/port/descriptors.ts'
import type { LiveListState } from '../../state/port/handles.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { Timer } from '../../state/port/timer-queue.ts'
import { copyValue } from '../folds/copy-value.ts'
import { ABOUT_STATE, type OperatorStateStore } from '../port/operator-state.ts'
import type { Timers } from '../process/timers.ts'
import type { SlicedWindows, TimeWindow } from './assigner.ts'
import { ListedContents, type SliceContents, type Slicing } from './contents.ts'
import { NO_NAMESPACE, type WindowNamespaces, windowOfNamespace } from './namespace.ts'
import { type SlicedRecord, slicedRecordSerializer } from './slices.ts'

/** How the names of states with records in slices begin. */
export const SLICED_RECORDS = 'sliced-records/'

/** Name of the operator state that says which windows have their records in slices. */
const SLICED_WINDOWS = `${ABOUT_STATE}records of sliding windows in slices`

/*
 * An entry of it:
 *
 *   | size: int53 | slide: int53 | offset: int53 | allowed lateness: int53 |   all in ms
 */

/** The state with the records of windows in their slices: other windows have another one. */
function slicedRecordsOf<IN>(
  { sizeMs, slideMs, offsetMs, latenessMs }: SlicedWindows,
  records: Serializer<IN>,
): ListStateDescriptor<SlicedRecord<IN>> {
  const name = `${SLICED_RECORDS}${sizeMs}/${slideMs}/${offsetMs}/${latenessMs}`
  return listState(name, { serializer: slicedRecordSerializer(records) })
}

/**
 * Contents of sliding windows that keep all records: each is there once, in a list of its key in the order of arrival, with
 * the start of its slice. A window that fires gets copies of the records of its slices.
 *
 * A window of other bounds, and one of a savepoint from before there were such lists, has a list of its own.
 */
export class SlicedRecords<IN> implements SliceContents<IN> {
  readonly sliced: SlicedWindows
  readonly descriptor: ListStateDescriptor<SlicedRecord<IN>>
  readonly ofWindows: ListedContents<IN>
  private readonly serializer: Serializer<IN>
  private readonly hasCopier: boolean
  private readonly added = { start: 0, value: undefined as IN, isFlat: false }
  private keyedState!: KeyedState
  private records!: LiveListState<SlicedRecord<IN>>
  private window: TimeWindow = { start: 0, end: 0 }
  private namespace: Uint8Array = NO_NAMESPACE
  /** The records of the selected window's key, where they were looked up. */
  private loaded: readonly SlicedRecord<IN>[] | undefined

  /** `serializer` encodes the records. */
  constructor(windows: SlicedWindows, serializer: Serializer<IN>) {
    this.sliced = windows
    this.serializer = serializer
    this.hasCopier = copierOf(serializer) !== undefined
    this.descriptor = slicedRecordsOf(windows, serializer)
    this.ofWindows = new ListedContents(serializer)
  }

  open(keyedState: KeyedState): void {
    this.keyedState = keyedState
    this.records = keyedState.liveList(this.descriptor)
    this.records.expectLooks()
    this.ofWindows.open(keyedState)
  }

  select(window: TimeWindow, namespace: Uint8Array): void {
    this.window = window
    this.namespace = namespace
    this.loaded = undefined
  }

  /** Whether the slice is a new one is not looked for: the timers of its windows are there, or are set. */
  add(start: number, value: IN): Slicing {
    const { added } = this
    added.start = start
    added.value = value
    this.keyedState.setCurrentNamespace(NO_NAMESPACE)
    this.records.append(added)
    return 'first-slice'
  }

  read(): readonly unknown[] | undefined {
    const { start, end } = this.window
    const values = this.ofWindows.hasEntries ? this.readOwn() : []
    for (const record of this.load()) {
      if (record.start >= start && record.start < end) values.push(this.copyOf(record))
    }
    return values.length === 0 ? undefined : values
  }

  take(): readonly unknown[] | undefined {
    const elements = this.read()
    this.clear()
    return elements
  }

  nextSlice(): number | undefined {
    const { start } = this.window
    let next: number | undefined
    for (const record of this.load()) {
      if (record.start > start && (next === undefined || record.start < next)) next = record.start
    }
    return next
  }

  /** Drops what no later window needs. */
  clear(): void {
    if (this.ofWindows.hasEntries) this.clearOwn()
    this.keyedState.setCurrentNamespace(NO_NAMESPACE)
    const { start } = this.window
    if (this.hasSlices) this.records.retain((record) => record.start > start, this.loaded)
  }

  /** Whether the selected window consists of slices: one of other bounds was there before a restore. */
  private get hasSlices(): boolean {
    const { sizeMs, slideMs, offsetMs } = this.sliced
    const { start, end } = this.window
    return end - start === sizeMs && (start - offsetMs) % slideMs === 0
  }

  private load(): readonly SlicedRecord<IN>[] {
    this.keyedState.setCurrentNamespace(NO_NAMESPACE)
    this.loaded ??= this.hasSlices ? this.records.elements() : []
    return this.loaded
  }

  private readOwn(): unknown[] {
    this.keyedState.setCurrentNamespace(this.namespace)
    return [...(this.ofWindows.read() ?? [])]
  }

  private clearOwn(): void {
    this.keyedState.setCurrentNamespace(this.namespace)
    this.ofWindows.clear()
  }

  /** What the window function gets of a record: it may change it, unless it has promised to change none. */
  private copyOf({ value, isFlat }: SlicedRecord<IN>): IN {
    if (typeof value !== 'object' || value === null || this.records.shares) return value
    if (isFlat) return { ...value }
    // Without a copier, lists hold bytes, and each look at them makes objects.
    return this.hasCopier ? copyValue(this.serializer, value) : value
  }
}

/** What `FormerSlices` needs of an operator of windows. */
export interface FormerSlicesOptions {
  readonly keyedState: KeyedState
  readonly operatorState: OperatorStateStore
  readonly timers: Timers
  readonly namespaces: WindowNamespaces
  /** The lists of single windows. */
  readonly ofWindows: ListedContents<unknown>
  /** The windows of the operator, if their records are in slices. */
  readonly own: SlicedWindows | undefined
}

interface FormerWindows {
  readonly windows: SlicedWindows
  readonly records: LiveListState<SlicedRecord<unknown>>
}

/**
 * Records in slices of windows that the operator had before a restore, and has no more: other bounds, a trigger, a longer
 * lateness. Before anything happens to a key, each of its open windows gets a list and a timer of its own, so that all
 * goes on as if there had been no slices.
 */
export class FormerSlices {
  private readonly options: FormerSlicesOptions
  private readonly all: readonly FormerWindows[]

  /** Claims such records of a checkpoint, and says in the next ones that they may be there. */
  constructor(options: FormerSlicesOptions) {
    const { keyedState, operatorState, ofWindows, own } = options
    this.options = options
    const stored = operatorState.restored(SLICED_WINDOWS).map(readWindows)
    const { serializer } = ofWindows.descriptor
    const known = new Map(stored.map((each) => [slicedRecordsOf(each, serializer).name, each]))
    if (own !== undefined) known.set(slicedRecordsOf(own, serializer).name, own)
    if (known.size > 0) {
      operatorState.update(SLICED_WINDOWS, 'union', [...known.values()].map(writeWindows))
    }
    if (own !== undefined) known.delete(slicedRecordsOf(own, serializer).name)
    this.all = [...known.values()].map((windows) => {
      return { windows, records: keyedState.liveList(slicedRecordsOf(windows, serializer)) }
    })
  }

  /** Whether a checkpoint had some. */
  get areThere(): boolean {
    return this.all.length > 0
  }

  /** Gives windows of the current key lists of their own. `firing`: the timer that fires, which its queue has no more. */
  unpack(firing?: Timer): void {
    const { keyedState } = this.options
    for (const { windows, records } of this.all) {
      if (!records.hasEntries()) continue
      keyedState.setCurrentNamespace(NO_NAMESPACE)
      const taken = records.take()
      if (taken.length > 0) this.unpackTo(windows, taken, firing)
    }
    if (firing !== undefined) keyedState.setCurrentNamespace(firing.namespace)
  }

  private unpackTo(
    windows: SlicedWindows,
    records: readonly SlicedRecord<unknown>[],
    firing: Timer | undefined,
  ): void {
    const { keyedState, timers, namespaces, ofWindows } = this.options
    const { currentWatermark, firedUpTo } = timers
    const reached = currentWatermark === MIN_TIMESTAMP ? firedUpTo : currentWatermark
    // Windows fire one after the other: from the first one that has a timer on, all have still to fire.
    let waits = false
    for (const [start, values] of recordsByWindow(windows, records)) {
      const end = start + windows.sizeMs
      keyedState.setCurrentNamespace(namespaces.of(start, end))
      const fires = firing?.timestamp === end - 1 && windowOfNamespace(firing.namespace).end === end
      waits ||= fires || timers.hasEventTimeTimer(end - 1)
      const clearTime = Math.min(end - 1 + windows.latenessMs, MAX_TIMESTAMP)
      if (!waits && (windows.latenessMs === 0 || clearTime <= reached)) continue
      ofWindows.addAll(values)
      if (!fires) timers.registerEventTimeTimer(waits ? end - 1 : clearTime)
    }
  }
}

/** The records of each window that has some, by the start of the window, ascending. */
function recordsByWindow(
  { sizeMs, slideMs }: SlicedWindows,
  records: readonly SlicedRecord<unknown>[],
): readonly (readonly [start: number, values: readonly unknown[]])[] {
  const byStart = new Map<number, unknown[]>()
  for (const { start, value } of records) {
    for (let at = start; at > start - sizeMs; at -= slideMs) {
      const values = byStart.get(at)
      if (values === undefined) byStart.set(at, [value])
      else values.push(value)
    }
  }
  return [...byStart].sort(([a], [b]) => a - b)
}

function readWindows(entry: Uint8Array): SlicedWindows {
  const reader = new ByteReader(entry)
  return {
    sizeMs: reader.int53(),
    slideMs: reader.int53(),
    offsetMs: reader.int53(),
    latenessMs: reader.int53(),
  }
}

function writeWindows({ sizeMs, slideMs, offsetMs, latenessMs }: SlicedWindows): Uint8Array {
  const writer = new ByteWriter(32)
  for (const ms of [sizeMs, slideMs, offsetMs, latenessMs]) writer.int53(ms)
  return writer.toBytes()
}
