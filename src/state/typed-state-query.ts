import { ByteWriter } from '../core/byte-writer.ts'
import { keyGroupOf } from '../core/key-group.ts'
import { murmur3 } from '../core/murmur3.ts'
import { decodeComposite, encodePrefix, escapedCapacity, writeEscaped } from './composite-key.ts'
import type { EntryValue, KeyedEntry } from './keyed-entry.ts'
import { bytesOfLatin1, latin1Of } from './latin1.ts'
import { byKey, mergeEntries, type PrefixEntry, scanPrefix, storedRange } from './prefix-scan.ts'
import type { SlotQueryAnswer } from './slot-query.ts'
import type { StateTable } from './state-table.ts'

const EMPTY = new Uint8Array(0)

/**
 * The encoded value of one key in the default namespace: the serializer's bytes of a value; for a
 * list its elements, for a map its keys and values in turn, each preceded by its length as varuint;
 * for aggregating state the accumulator.
 */
export function answerKey(
  table: StateTable,
  key: Uint8Array,
  maxParallelism: number,
): SlotQueryAnswer {
  const keyGroup = keyGroupOf(key, maxParallelism)
  const composite = encodePrefix(key, EMPTY)
  const value =
    table.kind === 'map'
      ? encodeMap(table, scanPrefix(table, keyGroup, latin1Of(composite)))
      : encodeEntry(table, keyGroup, composite)
  table.memory.settle()
  if (value !== undefined) return { kind: 'found', key, value }
  return { kind: table.memory.restoring ? 'restoring' : 'missing', key }
}

/** Entries with `from <= key < to` in the default namespace, in key order, at most `limit`. */
export function answerScan(
  table: StateTable,
  from: Uint8Array,
  to: Uint8Array,
  limit: number,
): SlotQueryAnswer[] {
  const answers: SlotQueryAnswer[] = []
  let group: { readonly composite: string; readonly entries: PrefixEntry[] } | undefined
  const flush = (): void => {
    if (group !== undefined) answers.push(found(table, group.composite, group.entries))
    group = undefined
  }
  for (const entry of entriesBetween(table, escaped(from), escaped(to))) {
    const parts = decodeComposite(bytesOfLatin1(entry.key))
    if (parts.namespace.length > 0) continue
    const composite = latin1Of(encodePrefix(parts.key, EMPTY))
    if (group?.composite !== composite) {
      flush()
      if (answers.length >= limit) return answers
      group = { composite, entries: [] }
    }
    group?.entries.push(entry)
  }
  flush()
  return answers
}

function found(
  table: StateTable,
  composite: string,
  entries: readonly PrefixEntry[],
): SlotQueryAnswer {
  const { key } = decodeComposite(bytesOfLatin1(composite))
  const value =
    table.kind === 'map' ? encodeMap(table, entries) : encodeValue(table, entries[0]!.value)
  return { kind: 'found', key, value: value! }
}

function encodeEntry(
  table: StateTable,
  keyGroup: number,
  composite: Uint8Array,
): Uint8Array | undefined {
  const entry = table.find(keyGroup, composite, composite.length, murmur3(composite) | 0)
  return entry === undefined ? undefined : encodeValue(table, entry.value)
}

function encodeValue(table: StateTable, value: EntryValue): Uint8Array {
  const writer = new ByteWriter(64)
  table.encodeValue(value, writer)
  return writer.toBytes()
}

function encodeMap(table: StateTable, entries: Iterable<PrefixEntry>): Uint8Array | undefined {
  const writer = new ByteWriter(256)
  const value = new ByteWriter(64)
  let isEmpty = true
  for (const entry of entries) {
    isEmpty = false
    writer.sized(decodeComposite(bytesOfLatin1(entry.key)).mapKey)
    value.reset()
    table.encodeValue(entry.value, value)
    writer.sized(value.bytes.subarray(0, value.length))
  }
  return isEmpty ? undefined : writer.toBytes()
}

/** Entries of all key groups with composite keys in the range, in key order. */
function* entriesBetween(
  table: StateTable,
  from: Uint8Array,
  to: Uint8Array,
): IterableIterator<PrefixEntry> {
  const lower = latin1Of(from)
  const upper = latin1Of(to)
  const inMemory: KeyedEntry[] = []
  for (const entry of table.entries) {
    if (entry.key >= lower && entry.key < upper) inMemory.push(entry)
  }
  inMemory.sort(byKey)
  const now = table.memory.clock.nowMs()
  const stored = mergeSorted(storedScans(table, from, to))
  yield* mergeEntries(table, inMemory, stored, now)
}

function storedScans(table: StateTable, from: Uint8Array, to: Uint8Array): Iterator<PrefixEntry>[] {
  const scans: Iterator<PrefixEntry>[] = []
  const { first, last } = table.memory.keyGroups
  for (let keyGroup = first; keyGroup <= last; keyGroup++) {
    if (table.hasSpilled(keyGroup)) scans.push(storedRange(table, keyGroup, from, to))
  }
  return scans
}

/** Merges sorted iterators by repeated choice of the least head. */
function* mergeSorted(scans: readonly Iterator<PrefixEntry>[]): IterableIterator<PrefixEntry> {
  const heads = scans.map((scan) => ({ scan, next: scan.next() }))
  for (;;) {
    let least: (typeof heads)[number] | undefined
    let leastKey = ''
    for (const head of heads) {
      if (head.next.done === true) continue
      if (least === undefined || head.next.value.key < leastKey) {
        least = head
        leastKey = head.next.value.key
      }
    }
    if (least === undefined) return
    yield least.next.value
    least.next = least.scan.next()
  }
}

function escaped(key: Uint8Array): Uint8Array {
  const target = new Uint8Array(escapedCapacity(key))
  // Without the terminator, so that a bound also covers longer keys that start with it.
  return target.subarray(0, writeEscaped(key, target, 0) - 2)
}
