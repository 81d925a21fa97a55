import { crc32 } from 'node:zlib'
import { varuintBytes } from '../../../core/byte-writer.ts'
import { copyBytes } from '../../../core/copy-bytes.ts'
import { WeirError } from '../../../core/errors.ts'
import type { KeyGroupRange } from '../../../core/key-group.ts'
import type { WasmMemory } from '../../../core/lifetime/wasm-memory.ts'
import type { EntrySpan, StateName } from '../../../state/port/change.ts'
import { RUN_HEADER_BYTES, type SliceIndex } from './format.ts'

/** A slice is closed once it has this many bytes. */
const SLICE_BYTES = 16 * 1024
/** Below this length a byte loop is faster than a call of TypedArray.set. */
const SHORT = 24
/** Longest three varuints that precede an entry. */
const ENTRY_HEAD_BYTES = 15

/** A block ready to be written; valid until its builder takes the next entry. */
export interface SealedBlock {
  readonly bytes: Uint8Array
  readonly entries: number
  readonly slices: readonly SliceIndex[]
}

/** Visitor of entries in place; the span is valid only during the call. */
export type SpanVisitor = (keyGroup: number, state: StateName, entry: EntrySpan) => void

/**
 * Collects entries in the order in which they come and returns them grouped by key group, newest first
 * within a group. Entries of a group are linked backwards, so grouping is one copy without a sort. The
 * sealed block is built after the entries in the same buffer (copyWithin allocates nothing).
 */
export class SegmentBlockBuilder {
  private readonly firstGroup: number
  /** Newest entry of each key group, -1 if none. */
  private readonly newest: Int32Array
  private readonly maxBytes: number
  private bytes: Uint8Array
  private view: DataView
  /** Where each entry starts; one more than there are entries. */
  private starts = new Int32Array(257)
  /** The entry of the same key group before this one, or -1. */
  private older = new Int32Array(256)
  private length = 0
  private groups = 0
  /** Entries taken since the last reset. */
  entries = 0

  /** Blocks of about `maxBytes` for these key groups; memory grows up to twice that on demand. */
  constructor(keyGroups: KeyGroupRange, maxBytes: number) {
    this.firstGroup = keyGroups.first
    this.newest = new Int32Array(Math.max(0, keyGroups.last - keyGroups.first + 1)).fill(-1)
    this.maxBytes = maxBytes
    this.bytes = new Uint8Array(Math.min(16 * 1024, 2 * maxBytes))
    this.view = new DataView(this.bytes.buffer)
  }

  /** Whether the block has reached its size. */
  get full(): boolean {
    return this.length >= this.maxBytes
  }

  /** Copies one entry in. Throws INVALID_ARGUMENT for a key group outside the segment. */
  append(keyGroup: number, state: number, key: Uint8Array, value: Uint8Array | undefined): void {
    let at = this.begin(keyGroup, state, key.length, value === undefined ? -1 : value.length)
    at = copyIn(this.bytes, at, key)
    if (value !== undefined) at = copyIn(this.bytes, at, value)
    this.length = at
    this.starts[this.entries] = at
  }

  /** As `append`, for an entry in place; its value follows its key. */
  appendSpan(keyGroup: number, state: number, entry: EntrySpan): void {
    const { keyLength, valueLength } = entry
    const at = this.begin(keyGroup, state, keyLength, valueLength)
    const length = keyLength + Math.max(0, valueLength)
    this.length = copyBytes(entry.bytes, entry.keyAt, this.bytes, at, length)
    this.starts[this.entries] = this.length
  }

  /** Links an entry and writes the numbers before its key; a value length of -1 marks a deleted key. */
  private begin(group: number, state: number, keyLength: number, valueLength: number): number {
    const place = group - this.firstGroup
    if (place < 0 || place >= this.newest.length) {
      throw new WeirError('INVALID_ARGUMENT', `key group ${group} is outside the segment`)
    }
    this.reserve(this.length + ENTRY_HEAD_BYTES + keyLength + Math.max(0, valueLength))
    this.link(place)
    let at = writeVaruint(this.bytes, this.length, state)
    at = writeVaruint(this.bytes, at, keyLength)
    return writeVaruint(this.bytes, at, valueLength + 1)
  }

  /** The block as it is written. */
  seal(): SealedBlock {
    const start = this.length
    this.reserve(2 * this.length + this.groups * RUN_HEADER_BYTES)
    const slices: SliceIndex[] = []
    let at = start
    let sliceStart = start
    let sliceGroup = -1
    let lastGroup = -1
    for (let group = 0; group < this.newest.length; group++) {
      if (this.newest[group]! < 0) continue
      if (sliceGroup < 0) sliceGroup = group
      at = this.writeRun(group, at)
      lastGroup = group
      if (at - sliceStart < SLICE_BYTES) continue
      slices.push(this.closeSlice(sliceGroup, group, sliceStart, at))
      sliceStart = at
      sliceGroup = -1
    }
    if (sliceGroup >= 0) slices.push(this.closeSlice(sliceGroup, lastGroup, sliceStart, at))
    return { bytes: this.bytes.subarray(start, at), entries: this.entries, slices }
  }

  /** Removes all entries and keeps the memory. */
  reset(): void {
    this.newest.fill(-1)
    this.length = 0
    this.groups = 0
    this.entries = 0
  }

  private link(group: number): void {
    const entry = this.entries
    if (entry === this.older.length) this.growEntries()
    const before = this.newest[group]!
    if (before < 0) this.groups += 1
    this.older[entry] = before
    this.newest[group] = entry
    this.starts[entry] = this.length
    this.entries = entry + 1
  }

  private writeRun(group: number, start: number): number {
    const { bytes, starts, older } = this
    let at = start + RUN_HEADER_BYTES
    for (let entry = this.newest[group]!; entry >= 0; entry = older[entry]!) {
      const from = starts[entry]!
      const to = starts[entry + 1]!
      if (to - from <= SHORT) for (let i = from; i < to; i++) bytes[at + i - from] = bytes[i]!
      else bytes.copyWithin(at, from, to)
      at += to - from
    }
    this.view.setUint16(start, this.firstGroup + group, true)
    this.view.setUint32(start + 2, at - start - RUN_HEADER_BYTES, true)
    return at
  }

  private closeSlice(first: number, last: number, start: number, end: number): SliceIndex {
    return {
      firstGroup: this.firstGroup + first,
      lastGroup: this.firstGroup + last,
      bytes: end - start,
      crc: crc32(this.bytes.subarray(start, end)),
    }
  }

  private reserve(needed: number): void {
    if (needed <= this.bytes.length) return
    const usual = Math.min(2 * this.bytes.length, 2 * this.maxBytes + this.maxBytes / 4)
    const grown = new Uint8Array(Math.max(needed, Math.ceil(usual)))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
    this.view = new DataView(grown.buffer)
  }

  private growEntries(): void {
    const older = new Int32Array(this.older.length * 2)
    older.set(this.older)
    this.older = older
    const starts = new Int32Array(older.length + 1)
    starts.set(this.starts)
    this.starts = starts
  }
}

/**
 * Decodes the runs of a checked slice whose key group is in `keyGroups`, in file order (newest first
 * within a key group). `memory` is that of the bytes, if they are in one. Throws MALFORMED_DATA.
 */
export function visitSlice(
  bytes: Uint8Array,
  memory: WasmMemory | undefined,
  names: readonly StateName[],
  keyGroups: KeyGroupRange,
  visit: SpanVisitor,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entry = { bytes, view, memory, keyAt: 0, keyLength: 0, valueAt: 0, valueLength: 0 }
  let at = 0
  while (at < bytes.length) {
    if (at + RUN_HEADER_BYTES > bytes.length) throw beyondEnd()
    const keyGroup = view.getUint16(at, true)
    const start = at + RUN_HEADER_BYTES
    at = start + view.getUint32(at + 2, true)
    if (at > bytes.length) throw beyondEnd()
    if (keyGroup < keyGroups.first || keyGroup > keyGroups.last) continue
    visitRun(entry, start, at, names, keyGroup, visit)
  }
}

/** An entry span that is changed in place from entry to entry. */
type MutableSpan = { -readonly [K in keyof EntrySpan]: EntrySpan[K] }

function visitRun(
  entry: MutableSpan,
  start: number,
  end: number,
  names: readonly StateName[],
  keyGroup: number,
  visit: SpanVisitor,
): void {
  const { bytes } = entry
  let at = start
  while (at < end) {
    const state = readVaruint(bytes, at)
    at += varuintBytes(state)
    const keyBytes = readVaruint(bytes, at)
    at += varuintBytes(keyBytes)
    const marked = readVaruint(bytes, at)
    at += varuintBytes(marked)
    const valueStart = at + keyBytes
    const next = marked === 0 ? valueStart : valueStart + marked - 1
    const name = names[state]
    if (next > end || name === undefined) throw beyondEnd()
    entry.keyAt = at
    entry.keyLength = keyBytes
    entry.valueAt = valueStart
    entry.valueLength = marked - 1
    visit(keyGroup, name, entry)
    at = next
  }
}

function copyIn(target: Uint8Array, at: number, source: Uint8Array): number {
  const { length } = source
  if (length <= SHORT) for (let i = 0; i < length; i++) target[at + i] = source[i]!
  else target.set(source, at)
  return at + length
}

function writeVaruint(bytes: Uint8Array, start: number, value: number): number {
  let at = start
  let rest = value >>> 0
  while (rest > 0x7f) {
    bytes[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  bytes[at++] = rest
  return at
}

function readVaruint(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!
  if (first < 0x80) return first
  let value = first & 0x7f
  for (let i = 1; i < 5; i++) {
    const byte = bytes[at + i]
    if (byte === undefined) throw beyondEnd()
    value += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) return value
  }
  throw beyondEnd()
}

function beyondEnd(): WeirError {
  return new WeirError('MALFORMED_DATA', 'an entry of a segment reaches beyond its run')
}
