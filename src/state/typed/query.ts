import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { keyGroupOf } from '../../core/key-group.ts'
import { firstAtLeast } from '../../core/text/first-at-least.ts'
import { bytesOfLatin1, latin1Of } from '../../core/text/latin1.ts'
import { SmallestStrings } from '../../core/text/smallest-strings.ts'
import {
  decodeComposite,
  encodePrefix,
  escapedCapacity,
  prefixLengthOf,
  writeEscaped,
} from '../port/composite-key.ts'
import type { QueryView } from '../port/descriptors.ts'
import { entryHash } from '../port/entry-hash.ts'
import {
  bytesOfAnswer,
  type KeyRange,
  SCAN_PART_BYTES,
  type ScanPart,
  successorOf,
} from '../port/scan-part.ts'
import type { SlotQueryAnswer } from '../port/slot-query.ts'
import type { EntryValue } from '../values/entry.ts'
import { ListValue } from '../values/list.ts'
import { isDefault, type KeyWindow, type PrefixRange } from './key-windows.ts'
import { readChunk } from './list-chunks.ts'
import type { PrefixGroups } from './prefix-groups.ts'
import { isVisible, type PrefixEntry, scanPrefix, storedRange } from './prefix-scan.ts'
import { storeKeyOf, valueOfStored } from './store-keys.ts'
import type { StateTable } from './table.ts'

const EMPTY = new Uint8Array(0)
/** Fewest and most keys that one pass over the entries finds. */
const LEAST_KEYS = 1024
const MOST_KEYS = 4096
/** Entries between two steps of a pass. */
const STEP_ENTRIES = 256

/**
 * The encoded value of one key in the default namespace: the serializer's bytes of a value; for a
 * list its elements, for a map its keys and values in turn, each preceded by its length as varuint;
 * for aggregating state the accumulator. It is a view of `arena`.
 */
export function answerKey(
  table: StateTable,
  key: Uint8Array,
  maxParallelism: number,
  arena: ByteWriter,
): SlotQueryAnswer {
  const keyGroup = keyGroupOf(key, maxParallelism)
  const composite = encodePrefix(key, EMPTY)
  const value =
    table.kind === 'map'
      ? encodeMap(table, scanPrefix(table, keyGroup, latin1Of(composite)), arena)
      : encodeEntry(table, keyGroup, composite, arena)
  table.context.settle()
  if (value !== undefined) return { kind: 'found', key, value }
  return { kind: table.context.restoring ? 'restoring' : 'missing', key }
}

/**
 * Entries with `from <= key < to` in the default namespace, in key order, at most `limit`, and no more
 * than SCAN_PART_BYTES. Values are views of `arena`. Yields between steps of some microseconds.
 */
export function* answerScan(
  table: StateTable,
  { from, to, limit }: KeyRange,
  maxParallelism: number,
  arena: ByteWriter,
): Generator<void, ScanPart> {
  const range = { from: latin1Of(escaped(from)), to: latin1Of(escaped(to)) }
  const window = yield* windowOf(table, range, limit)
  const answers: SlotQueryAnswer[] = []
  let bytes = 0
  let last = from
  const { prefixes } = window
  for (let at = firstAtLeast(prefixes, range.from); at < prefixes.length; at++) {
    const composite = prefixes[at]!
    const { key } = decodeComposite(bytesOfLatin1(composite))
    if (answers.length >= limit || bytes >= SCAN_PART_BYTES) return { answers, resume: key }
    const value = readInPlace(table, keyGroupOf(key, maxParallelism), composite, arena)
    last = key
    yield
    if (value === undefined) continue
    const answer: SlotQueryAnswer = { kind: 'found', key, value }
    answers.push(answer)
    bytes += bytesOfAnswer(answer)
  }
  return { answers, resume: window.last === undefined ? undefined : successorOf(last) }
}

/** The value of a key wherever its entry is, without effect on what stays in memory. */
function readInPlace(
  table: StateTable,
  keyGroup: number,
  composite: string,
  arena: ByteWriter,
): Uint8Array | undefined {
  if (table.kind === 'map') return encodeMap(table, scanPrefix(table, keyGroup, composite), arena)
  const bytes = bytesOfLatin1(composite)
  const now = table.context.clock.nowMs()
  const entry = table.index.find(keyGroup, bytes, bytes.length, entryHash(table.kind, bytes))
  if (entry !== undefined) {
    if (!isVisible(table, entry, now)) return undefined
    return encodeValue(table, { keyGroup, composite: bytes, value: entry.value }, arena)
  }
  if (!table.index.hasSpilled(keyGroup)) return undefined
  const stored = table.context.store!.get(storeKeyOf(table.id, keyGroup, bytes))
  const value = stored === undefined ? undefined : valueOfStored(stored)
  const unexpired = value === undefined ? undefined : table.valueIfUnexpired(value, now)
  if (unexpired === undefined) return undefined
  return encodeValue(table, { keyGroup, composite: bytes, value: unexpired }, arena)
}

function encodeEntry(
  table: StateTable,
  keyGroup: number,
  composite: Uint8Array,
  arena: ByteWriter,
): Uint8Array | undefined {
  const entry = table.find(keyGroup, composite, composite.length, entryHash(table.kind, composite))
  if (entry === undefined) return undefined
  return encodeValue(table, { keyGroup, composite, value: entry.value }, arena)
}

/** A value where it was found. */
interface FoundValue {
  readonly keyGroup: number
  readonly composite: Uint8Array
  readonly value: EntryValue
}

function encodeValue(table: StateTable, found: FoundValue, arena: ByteWriter): Uint8Array {
  const from = arena.length
  if (table.kind === 'list' && table.hasChunks) encodeList(table, found, arena)
  else if (table.queryView !== undefined) writeView(table, table.queryView, found.value, arena)
  else table.encodeValue(found.value, arena)
  return arena.bytes.subarray(from, arena.length)
}

/** Appends what queries get in place of a value. */
function writeView(
  { serializer, context }: StateTable,
  view: QueryView<unknown>,
  value: EntryValue,
  arena: ByteWriter,
): void {
  const object = value instanceof Uint8Array ? serializer!.read(new ByteReader(value)) : value
  view.write(object, context.clock.nowMs(), arena)
}

/** Appends the elements of all chunks and of the head. */
function encodeList(
  table: StateTable,
  { keyGroup, composite, value }: FoundValue,
  arena: ByteWriter,
): void {
  const list = value instanceof ListValue ? value : ListValue.of(value as Uint8Array)
  for (let number = 0; number < list.chunks; number++) {
    arena.raw(readChunk(table, keyGroup, composite, number))
  }
  list.writeElements(table.serializer, arena)
}

function encodeMap(
  table: StateTable,
  entries: Iterable<PrefixEntry>,
  arena: ByteWriter,
): Uint8Array | undefined {
  const from = arena.length
  const value = new ByteWriter(64)
  let isEmpty = true
  for (const entry of entries) {
    isEmpty = false
    arena.sized(decodeComposite(bytesOfLatin1(entry.key)).mapKey)
    value.reset()
    table.encodeValue(entry.value, value)
    arena.sized(value.bytes.subarray(0, value.length))
  }
  return isEmpty ? undefined : arena.bytes.subarray(from, arena.length)
}

/**
 * A window with the first keys of the range: one that an earlier page of the scan has made, or a new one
 * from a pass over all entries. Yields between steps of some microseconds.
 */
function* windowOf(
  table: StateTable,
  range: PrefixRange,
  limit: number,
): Generator<void, KeyWindow> {
  const { windows, context } = table
  const known = windows.find(range, context.clock.nowMs())
  if (known !== undefined) return known
  let window: KeyWindow | undefined
  windows.beginPass()
  try {
    const smallest = new SmallestStrings(Math.min(MOST_KEYS, Math.max(LEAST_KEYS, limit)))
    yield* offerAll(table, range, smallest)
    const { isCut } = smallest
    const sorted = yield* smallest.sorted()
    const prefixes = sorted.filter((key, i) => i === 0 || key !== sorted[i - 1])
    const last = isCut ? prefixes.at(-1) : undefined
    window = { ...range, prefixes, last, usedAtMs: context.clock.nowMs() }
  } finally {
    windows.endPass(window)
  }
  return window
}

/** Reads memory first and the store after it: an entry that moves meanwhile is found in one of them. */
function* offerAll(
  table: StateTable,
  range: PrefixRange,
  smallest: SmallestStrings,
): Generator<void, void> {
  yield* offerMemory(table, range, smallest)
  const { first, last } = table.context.keyGroups
  for (let keyGroup = first; keyGroup <= last; keyGroup++) {
    if (table.index.hasSpilled(keyGroup)) yield* offerStore(table, keyGroup, range, smallest)
  }
}

/** Goes down from the last entry: one that is removed meanwhile leaves its place to one already seen. */
function* offerMemory(
  table: StateTable,
  range: PrefixRange,
  smallest: SmallestStrings,
): Generator<void, void> {
  const { entries } = table
  if (table.groups !== undefined) {
    yield* offerGroups(table, table.groups, { range, smallest })
    return
  }
  const { from, to } = range
  let step = 0
  for (let at = entries.length - 1; at >= 0; at = Math.min(at, entries.length) - 1) {
    const { key } = entries.at(at)
    if (key >= from && key < to) offerKey(key, smallest)
    if (++step % STEP_ENTRIES === 0) yield
  }
}

function* offerGroups(
  { context }: StateTable,
  groups: PrefixGroups,
  {
    range: { from, to },
    smallest,
  }: { readonly range: PrefixRange; readonly smallest: SmallestStrings },
): Generator<void, void> {
  const { first, last } = context.keyGroups
  let step = 0
  for (let keyGroup = first; keyGroup <= last; keyGroup++) {
    for (const prefix of groups.prefixes(keyGroup)) {
      if (prefix >= from && prefix < to) offerKey(prefix, smallest)
      if (++step % STEP_ENTRIES === 0) yield
    }
  }
}

/** Opens an iterator for each step: the store may be closed between two. */
function* offerStore(
  table: StateTable,
  keyGroup: number,
  { from, to }: PrefixRange,
  smallest: SmallestStrings,
): Generator<void, void> {
  let next = bytesOfLatin1(from)
  const end = bytesOfLatin1(to)
  for (;;) {
    let entries = 0
    for (const { key } of storedRange(table, keyGroup, next, end)) {
      const prefix = key.slice(0, prefixLengthOf(key))
      const isAbove = smallest.limit !== undefined && prefix >= smallest.limit
      offerKey(prefix, smallest)
      if (isAbove) return
      // All entries of a map have one prefix: the next step begins behind them.
      next = bytesOfLatin1(prefix)
      next[next.length - 1]! += 1
      entries += 1
      if (entries === STEP_ENTRIES || table.kind === 'map') break
    }
    if (entries === 0) return
    yield
  }
}

/** Only keys in the default namespace, whose prefix ends with the end of the key and of nothing. */
function offerKey(prefix: string, smallest: SmallestStrings): void {
  if (smallest.limit !== undefined && prefix > smallest.limit) smallest.offer(smallest.limit)
  else if (isDefault(prefix)) smallest.offer(prefix)
}

function escaped(key: Uint8Array): Uint8Array {
  const target = new Uint8Array(escapedCapacity(key))
  // Without the terminator, so that a bound also covers longer keys that start with it.
  return target.subarray(0, writeEscaped(key, target, 0) - 2)
}
