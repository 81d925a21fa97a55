import { murmur3 } from '../../core/hash/murmur3.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { PrefixReader } from '../port/prefix-reader.ts'
import type { Timer, TimerQueue } from '../port/timer-queue.ts'
import { IN_HEAP, type KeyedEntry, LIVE } from '../typed/keyed-entry.ts'
import type { StateTable } from '../typed/table.ts'
import { TimerHeap } from './heap.ts'

/** Bytes of the timestamp in front of a timer's composite key. */
const TIMESTAMP_BYTES = 8
/** Added to the high 32 bits of a timestamp, so that its bytes order as the numbers do. */
const HIGH_BIAS = 2 ** 21
const NOTHING = new Uint8Array(0)

/**
 * Timers as entries of a table, keyed by (timestamp, key, namespace), and a heap over them. Deleted timers stay in
 * the heap until they reach its top.
 */
export class KeyedTimerQueue implements TimerQueue {
  private readonly table: StateTable
  private readonly selection: KeySelection
  private heap = new TimerHeap()
  private scratch = new Uint8Array(256)
  private readonly prefix = new PrefixReader()

  constructor(table: StateTable, selection: KeySelection) {
    this.table = table
    this.selection = selection
    this.rebuild()
  }

  register(timestamp: number): void {
    const length = this.locate(timestamp)
    const hash = murmur3(this.scratch, 0, length) | 0
    const keyGroup = this.selection.keyGroup
    const entry = this.table.findOrCreate(keyGroup, this.scratch, length, hash)
    if ((entry.flags & LIVE) !== 0) return
    entry.time = timestamp
    this.table.set(entry, NOTHING)
    if ((entry.flags & IN_HEAP) === 0) this.add(entry)
    this.table.context.settle()
  }

  delete(timestamp: number): void {
    const length = this.locate(timestamp)
    const hash = murmur3(this.scratch, 0, length) | 0
    this.table.removeAt(this.selection.keyGroup, this.scratch, length, hash)
  }

  peek(): number | undefined {
    this.dropDeleted()
    return this.heap.first?.time
  }

  poll(upTo: number): Timer | undefined {
    this.dropDeleted()
    const { first } = this.heap
    if (first === undefined || first.time > upTo) return undefined
    this.take(first)
    this.prefix.read(first.key, TIMESTAMP_BYTES)
    const { key, namespace } = this.prefix
    const timer = { timestamp: first.time, key, keyGroup: first.keyGroup, namespace }
    this.table.remove(first)
    return timer
  }

  /** Builds the heap from the table, after a restore. */
  rebuild(): void {
    this.heap = new TimerHeap()
    for (const entry of this.table.entries) {
      if ((entry.flags & LIVE) === 0) continue
      entry.time = readTimestamp(entry.key)
      this.add(entry)
    }
  }

  /** Writes the composite key of a timer of the current key into `scratch`; returns its length. */
  private locate(timestamp: number): number {
    this.selection.encode()
    const { bytes, prefixEnd } = this.selection
    const length = TIMESTAMP_BYTES + prefixEnd
    if (length > this.scratch.length) this.scratch = new Uint8Array(length * 2)
    writeTimestamp(timestamp, this.scratch)
    for (let i = 0; i < prefixEnd; i++) this.scratch[TIMESTAMP_BYTES + i] = bytes[i]!
    return length
  }

  private dropDeleted(): void {
    let first = this.heap.first
    while (first !== undefined && (first.flags & LIVE) === 0) {
      this.take(first)
      first = this.heap.first
    }
  }

  private add(entry: KeyedEntry): void {
    entry.flags |= IN_HEAP
    this.heap.push(entry)
  }

  /** Removes the first entry of the heap. */
  private take(first: KeyedEntry): void {
    first.flags &= ~IN_HEAP
    this.heap.pop()
  }
}

/** Eight bytes, big-endian: the high half biased, then the low half. */
function writeTimestamp(timestamp: number, target: Uint8Array): void {
  const upper = Math.floor(timestamp / 4294967296)
  const high = upper + HIGH_BIAS
  const low = timestamp - upper * 4294967296
  for (let i = 0; i < 4; i++) {
    target[i] = high >>> (24 - 8 * i)
    target[i + 4] = low >>> (24 - 8 * i)
  }
}

function readTimestamp(key: string): number {
  let high = 0
  let low = 0
  for (let i = 0; i < 4; i++) {
    high = high * 256 + key.charCodeAt(i)
    low = low * 256 + key.charCodeAt(i + 4)
  }
  return (high - HIGH_BIAS) * 4294967296 + low
}
