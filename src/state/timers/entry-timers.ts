import { writeLatin1 } from '../../core/text/latin1.ts'
import { type KeyedEntry, LIVE, TIMED } from '../entries/keyed-entry.ts'
import type { ChangeSink, StateName } from '../port/change.ts'
import { escapedCapacity, writeEscaped } from '../port/composite-key.ts'
import type { EntryTimers } from '../port/entry-timers.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { PrefixReader } from '../port/prefix-reader.ts'
import type { Timer } from '../port/timer-queue.ts'
import type { StateTable } from '../typed/table.ts'
import { Moments } from './moments.ts'
import { TIMESTAMP_BYTES, writeTimestamp } from './timestamp.ts'

const NOTHING = new Uint8Array(0)
/** Characters that end the empty namespace in a composite key. */
const END_OF_NAMESPACE = 2

/** Options of `TableEntryTimers`. */
export interface EntryTimersOptions {
  /** The state, all of whose entries are in memory. */
  readonly table: StateTable
  readonly selection: KeySelection
  /** The queue's name in segments. */
  readonly queue: StateName
  /** The namespace of a timer at a time, of entries in the default namespace; without it, a timer has that of its entry. */
  readonly namespaceAt: ((timestamp: number) => Uint8Array) | undefined
  /** Registers a timer of the current key with a key of its own, where the queue knows one; false where it does not. */
  readonly takeOver: (timestamp: number, namespace: Uint8Array) => boolean
}

/**
 * Timers that are only a mark and a time in the entries of a table, and lists of the entries by moment. Segments have them
 * as they have timers with keys of their own, so that a restore makes those of them.
 */
export class TableEntryTimers implements EntryTimers {
  private readonly options: EntryTimersOptions
  private readonly table: StateTable
  private readonly selection: KeySelection
  private readonly moments = new Moments()
  private readonly prefix = new PrefixReader()
  private scratch = new Uint8Array(256)

  constructor(options: EntryTimersOptions) {
    this.options = options
    this.table = options.table
    this.selection = options.selection
    this.table.timers = this
  }

  /** Time of the first timer; infinite where there is none. */
  get first(): number {
    for (;;) {
      const moment = this.moments.first
      if (moment === undefined) return Number.POSITIVE_INFINITY
      const entry = moment.first
      if (entry === undefined) this.moments.dropFirst()
      else if (isDue(entry, moment.time)) return moment.time
      else moment.take()
    }
  }

  set(timestamp: number): void {
    const { table, selection } = this
    const entry = table.currentToWrite(selection)
    const isTimed = (entry.flags & TIMED) !== 0
    if (isTimed && entry.time <= timestamp) return
    const namespace = this.options.namespaceAt?.(timestamp) ?? selection.namespace
    if (this.options.takeOver(timestamp, namespace)) return
    table.change(entry)
    entry.time = timestamp
    entry.flags |= TIMED
    this.moments.at(timestamp).add(entry)
  }

  /** Removes the first timer, which must be there, and selects its entry. */
  poll(): Timer {
    const { table, selection, prefix } = this
    const moment = this.moments.first!
    const entry = moment.first!
    moment.take()
    // A snapshot in progress has the timer.
    table.change(entry)
    entry.flags &= ~TIMED
    prefix.read(entry.key, 0)
    selection.select(prefix.key, entry.keyGroup)
    selection.selectNamespace(prefix.namespace)
    table.select(entry, selection)
    const { time } = moment
    const namespace = this.options.namespaceAt?.(time) ?? prefix.namespace
    return { timestamp: time, key: prefix.key, keyGroup: entry.keyGroup, namespace }
  }

  /**
   * Writes the timer of an entry into a sink, and the end of the one that was written before. `full`: whether the sink gets
   * all state.
   */
  write(sink: ChangeSink, entry: KeyedEntry, full: boolean): void {
    const { writtenTimer } = entry
    const isTimed = (entry.flags & (LIVE | TIMED)) === (LIVE | TIMED)
    const time = isTimed ? entry.time : undefined
    if (time === writtenTimer && !full) return
    if (writtenTimer !== undefined && time !== writtenTimer) {
      this.append(sink, entry, writtenTimer, undefined)
    }
    if (time !== undefined) this.append(sink, entry, time, NOTHING)
    entry.writtenTimer = time
  }

  private append(
    sink: ChangeSink,
    entry: KeyedEntry,
    time: number,
    value: Uint8Array | undefined,
  ): void {
    const key = this.keyOf(entry.key, time)
    sink.append(entry.keyGroup, this.options.queue, key, value)
  }

  /** The composite key of the timer of an entry; valid until the next call. */
  private keyOf(entryKey: string, time: number): Uint8Array {
    const namespace = this.options.namespaceAt?.(time)
    const room = TIMESTAMP_BYTES + entryKey.length + escapedCapacity(namespace ?? NOTHING)
    if (room > this.scratch.length) this.scratch = new Uint8Array(room * 2)
    const { scratch } = this
    writeTimestamp(time, scratch)
    const end = writeLatin1(entryKey, scratch, TIMESTAMP_BYTES)
    if (namespace === undefined) return scratch.subarray(0, end)
    return scratch.subarray(0, writeEscaped(namespace, scratch, end - END_OF_NAMESPACE))
  }
}

function isDue({ flags, time }: KeyedEntry, moment: number): boolean {
  return (flags & (LIVE | TIMED)) === (LIVE | TIMED) && time === moment
}
