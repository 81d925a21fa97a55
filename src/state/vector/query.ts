import type { ByteWriter } from '../../core/byte-writer.ts'
import type { Clock } from '../../core/clock.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { firstAtLeast } from '../../core/text/first-at-least.ts'
import { bytesOfLatin1, latin1Of } from '../../core/text/latin1.ts'
import { bytesOfAnswer, type KeyRange, SCAN_PART_BYTES, type ScanPart } from '../port/scan-part.ts'
import type { SlotQueryAnswer } from '../port/slot-query.ts'
import { VECTOR_ROW_DELETED, vectorRowBytes } from '../rows/codec.ts'
import type { KeyWindow } from '../rows/key-window.ts'
import { ROW_REFERENCE, ROW_STATE, STATE_IMAGE, STATE_LIVE } from '../rows/layout.ts'
import type { VersionMemory } from './version-memory.ts'
import type { VersionRows } from './version-rows.ts'

/** Rows of a scan that are read between two steps. */
const SCAN_BATCH = 32

/**
 * Answers for rows of one version in the order of the keys, encoded. A row that only the store has is
 * answered from its bytes there and stays there: bringing it into memory would evict another one that
 * is as likely to be asked for. It comes into memory when it is asked for a second time soon after, or
 * when `bring` says so.
 */
export function answerRows(
  version: VersionRows,
  keys: readonly Uint8Array[],
  bring: boolean,
): SlotQueryAnswer[] {
  const { memory, spill } = version
  const hashes = Int32Array.from(keys, (key) => murmur3(key) | 0)
  const stored = spill?.fetchMissing(keys, hashes)
  const size = vectorRowBytes(memory.rows.layout.dimension)
  const answers: SlotQueryAnswer[] = []
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    const value = stored?.[i]
    if (value === undefined) answers.push(answerInMemory(memory, key, hashes[i]!))
    else answers.push(answerOfStored(key, value, size))
  }
  // Last, because a row that comes in may evict one of those above.
  if (stored !== undefined) spill!.admitAsked(keys, hashes, stored, bring)
  return answers
}

function answerInMemory(memory: VersionMemory, key: Uint8Array, hash: number): SlotQueryAnswer {
  const row = memory.rows.find(key, hash)
  if (row < 0) return { kind: memory.context.restoring ? 'restoring' : 'missing', key }
  const { words } = memory.rows.arena
  const header = memory.rows.headerOf(row)
  words[header + ROW_REFERENCE] = 1
  if ((words[header + ROW_STATE]! & STATE_LIVE) === 0) return { kind: 'missing', key }
  return { kind: 'found', key, value: memory.scratch.encode(row).slice() }
}

/** An entry of the store without its images, as a view if it has some. */
function answerOfStored(key: Uint8Array, value: Uint8Array, size: number): SlotQueryAnswer {
  if (isDeleted(value)) return { kind: 'missing', key }
  return { kind: 'found', key, value: value.length === size ? value : value.subarray(0, size) }
}

/**
 * Rows with `from <= key < to` in key order, spilled ones included, at most `limit`, and no more than
 * SCAN_PART_BYTES. Values of rows in memory are views of `arena`. Yields after each few microseconds of work.
 */
export function* answerScan(
  version: VersionRows,
  { from, to, limit }: KeyRange,
  clock: Clock,
  arena: ByteWriter,
): Generator<void, ScanPart> {
  const { memory, spill } = version
  const { rows } = memory
  const stored = spill === undefined ? undefined : (key: Uint8Array) => spill.entries(key)
  const answers: SlotQueryAnswer[] = []
  const upper = latin1Of(to)
  let bytes = 0
  let next: string | undefined = latin1Of(from)
  while (next !== undefined && next < upper) {
    if (answers.length >= limit || bytes >= SCAN_PART_BYTES) {
      return { answers, resume: bytesOfLatin1(next) }
    }
    const window: KeyWindow = yield* memory.windows.at({ rows, stored }, next, clock.nowMs())
    const { keys, end } = window
    let at = firstAtLeast(keys, next)
    while (at < keys.length && keys[at]! < upper) {
      if (answers.length >= limit || bytes >= SCAN_PART_BYTES) {
        return { answers, resume: bytesOfLatin1(keys[at]!) }
      }
      const batch = keys.slice(at, at + Math.min(SCAN_BATCH, limit - answers.length))
      at += batch.length
      const wanted = batch.filter((key) => key < upper)
      for (const answer of answerKeys(version, wanted, arena)) {
        if (answer.kind !== 'found') continue
        answers.push(answer)
        bytes += bytesOfAnswer(answer)
      }
      yield
    }
    if (at < keys.length) break
    next = end
  }
  return { answers, resume: undefined }
}

/** Answers for keys wherever their rows are, without effect on what stays in memory. */
function answerKeys(
  { memory, spill }: VersionRows,
  texts: readonly string[],
  arena: ByteWriter,
): SlotQueryAnswer[] {
  const keys = texts.map(bytesOfLatin1)
  const hashes = Int32Array.from(keys, (key) => murmur3(key) | 0)
  const stored = spill?.fetchMissing(keys, hashes)
  const size = vectorRowBytes(memory.rows.layout.dimension)
  return keys.map((key, i) => {
    const value = stored?.[i]
    if (value !== undefined) return answerOfStored(key, value, size)
    const row = memory.rows.find(key, hashes[i]!)
    if (row < 0 || (memory.rows.stateOf(row) & STATE_LIVE) === 0) return { kind: 'missing', key }
    const from = arena.length
    arena.raw(memory.scratch.encode(row))
    return { kind: 'found', key, value: arena.bytes.subarray(from, arena.length) }
  })
}

/** Keys of a page of `keysOf`. */
const KEYS_PAGE = 256

/** Copies of the keys of the rows of a version: of those in memory, then of those that the store has an entry of. */
export function* keysOf(version: VersionRows): IterableIterator<Uint8Array> {
  const { memory } = version
  const { rows } = memory
  for (let row = 0; row < rows.rowLimit; row++) {
    const state = rows.stateOf(row)
    if ((state & STATE_LIVE) !== 0 && (state & STATE_IMAGE) === 0) {
      yield memory.scratch.keyOf(row).slice()
    }
  }
  let from: Uint8Array = new Uint8Array(0)
  for (;;) {
    const page = answerStoredPage(version, from, KEYS_PAGE)
    for (const { kind, key } of page) if (kind === 'found') yield key
    if (page.length < KEYS_PAGE) return
    from = Uint8Array.of(...page.at(-1)!.key, 0)
  }
}

/** A page of the store's entries from a key on, see `VersionedRows.storedPage`. */
export function answerStoredPage(
  { memory, spill }: VersionRows,
  from: Uint8Array,
  limit: number,
): SlotQueryAnswer[] {
  const answers: SlotQueryAnswer[] = []
  if (spill === undefined) return answers
  const size = vectorRowBytes(memory.rows.layout.dimension)
  for (const [stored, value] of spill.entries(from)) {
    if (answers.length === limit) break
    answers.push(answerOfEntry(memory, stored.slice(), value.slice(0, size)))
  }
  return answers
}

function answerOfEntry(
  { rows, scratch }: VersionMemory,
  key: Uint8Array,
  value: Uint8Array,
): SlotQueryAnswer {
  const row = rows.find(key, murmur3(key) | 0)
  if (row < 0) return isDeleted(value) ? { kind: 'missing', key } : { kind: 'found', key, value }
  const live = (rows.stateOf(row) & STATE_LIVE) !== 0
  return live
    ? { kind: 'found', key, value: scratch.encode(row).slice() }
    : { kind: 'missing', key }
}

function isDeleted(value: Uint8Array): boolean {
  return (value[1]! & VECTOR_ROW_DELETED) !== 0
}
