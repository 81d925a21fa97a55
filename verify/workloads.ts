import type { Random } from '../src/core/random.ts'
import { countBelow } from './checks/history.ts'
import type { KeyLedger } from './checks/observation.ts'
import type { LoadMessage, ReadRecord } from './kafka/client.ts'
import type { Load } from './kafka/load.ts'

/** Partitions of every input topic. */
export const PARTITIONS = 3
/** Floats of an item's row. The first float counts the deltas. */
export const DIMENSION = 6

const COUNT_KEYS = 150
/** Keys that never have a record, so that no answer may have a value for them. */
const NEVER_KEYS: readonly string[] = ['never1', 'never2', 'never3']
/** One in this many records may go to a partition that was added. */
const GROWN_SHARE = 3
/** Keys of each partition that was added. */
const GROWN_KEYS = 10
const ITEMS = 120
/** Number of rating partitions in the deltas. */
const RATING_PARTITIONS = 2
/** One in this many batches of deltas is repeated, as after the restart of a sender. */
const REPEAT_ONE_IN = 10
const REPEATED = 30
/** Newness of the user of each delta; a fold that added it to a row would be found. */
const NEWNESS = 0.5

const partitionOf = (number: number): number => number % PARTITIONS
const itemKey = (item: number): string => `${item}-I`

/** Keys of the counts. */
export const countKeys = (): string[] => [
  ...Array.from({ length: COUNT_KEYS }, (_, i) => `k${i}`),
  ...NEVER_KEYS,
]
/** Keys of the items' rows. */
export const itemKeys = (): string[] => Array.from({ length: ITEMS }, (_, i) => itemKey(i))

/**
 * Records to count: a key and an amount. Half of them have one of the first few keys. Partitions that
 * are added to the topic (`partitions()`) get keys of their own, because a key stays in its partition.
 */
export function countMessages(random: Random, partitions: () => number): () => LoadMessage {
  return () => {
    const partition = random.below(partitions() * GROWN_SHARE)
    if (partition >= PARTITIONS && partition < partitions()) {
      const value = Buffer.from(String(random.below(1000)))
      return { key: `g${partition}-${random.below(GROWN_KEYS)}`, value, partition }
    }
    const number = random.below(2) === 0 ? random.below(12) : random.below(COUNT_KEYS)
    const value = Buffer.from(String(random.below(1000)))
    return { key: `k${number}`, value, partition: partitionOf(number) }
  }
}

/** The row of an item before its first delta. */
export function baseRow(item: number): Float32Array {
  return Float32Array.from({ length: DIMENSION }, (_, i) => (i === 0 ? 0 : (item * i) % 50))
}

/** The messages of the rows topic. */
export function rowMessages(): LoadMessage[] {
  return Array.from({ length: ITEMS }, (_, item) => ({
    key: `${itemKey(item)}@1`,
    value: Buffer.from(baseRow(item).buffer),
    partition: partitionOf(item),
  }))
}

/** Deltas to send. */
export interface DeltaMessages {
  next(): LoadMessage
  /** Repeats none of the messages so far, some of which may not be stored. */
  forget(): void
}

/**
 * Deltas of whole numbers, so that sums are exact. Sometimes the last few are repeated, as by a sender that
 * restarts before it has stored its position.
 */
export function deltaMessages(random: Random): DeltaMessages {
  const offsets = Array.from({ length: RATING_PARTITIONS }, () => 0)
  const last: LoadMessage[] = []
  const again: LoadMessage[] = []
  const next = (): LoadMessage => {
    const repeated = again.shift()
    if (repeated !== undefined) return repeated
    const item = random.below(3) === 0 ? random.below(8) : random.below(ITEMS)
    const rating = random.below(RATING_PARTITIONS)
    const values = Array.from({ length: DIMENSION }, (_, i) => (i === 0 ? 1 : random.below(17) - 8))
    const message = {
      key: `${itemKey(item)}@1`,
      value: encodeDelta(rating, offsets[rating]!++, values),
      partition: partitionOf(item),
    }
    last.push(message)
    if (last.length > REPEATED) last.shift()
    if (random.below(REPEAT_ONE_IN * REPEATED) === 0) again.push(...last)
    return message
  }
  const forget = (): void => {
    last.length = 0
    again.length = 0
  }
  return { next, forget }
}

/**
 * Encodes a delta as in docs/reference/model-topic.md, without Weir's code: in turn in format 1 and in
 * format 2, which has the newness of the user after the values.
 */
function encodeDelta(partition: number, offset: number, values: readonly number[]): Buffer {
  const format = 1 + (offset % 2)
  const bytes = Buffer.alloc(16 + 4 * (values.length + format - 1))
  bytes.writeUInt8(format, 0)
  if (format === 2) bytes.writeFloatLE(NEWNESS, 16 + 4 * values.length)
  bytes.writeUInt32LE(partition, 4)
  bytes.writeBigInt64LE(BigInt(offset), 8)
  for (const [i, value] of values.entries()) bytes.writeFloatLE(value, 16 + 4 * i)
  return bytes
}

/** The floats of a row after its version, as one number. */
export function checkOfRow(row: ArrayLike<number>): number {
  let sum = 0
  for (let i = 1; i < row.length; i++) sum += row[i]! * 1000 ** (i - 1)
  return sum
}

/** `check` of a count with this hash, for rows (with the hash in two parts) and values. */
export const checkOfHash = (hash: number): number =>
  checkOfRow([0, hash % 2 ** 16, Math.floor(hash / 2 ** 16), 0])

interface Draft {
  readonly partition: number
  readonly offsets: number[]
  readonly storedMs: number[]
  readonly checks: (number | undefined)[]
}

/** The hashes of the results of each key, by count from 0. */
export function countHashes(records: readonly ReadRecord[]): Map<string, (number | undefined)[]> {
  const hashes = new Map<string, (number | undefined)[]>()
  for (const { key, value } of records) {
    const list = hashes.get(key) ?? [undefined]
    hashes.set(key, list)
    list.push(((list.at(-1) ?? 7) * 31 + Number(value.toString())) % 2 ** 31)
  }
  return hashes
}

/** The ledger of the counts, from the records of the topic. */
export function countLedger(records: readonly ReadRecord[], load: Load): Map<string, KeyLedger> {
  const drafts = new Map<string, Draft>()
  const hashes = new Map<string, number>()
  for (const record of records) {
    const { key, value } = record
    const hash = ((hashes.get(key) ?? 7) * 31 + Number(value.toString())) % 2 ** 31
    hashes.set(key, hash)
    append(drafts, load, { key, record, before: undefined, check: checkOfHash(hash) })
  }
  for (const key of countKeys()) if (!drafts.has(key)) drafts.set(key, emptyDraft(undefined))
  return finished(drafts)
}

/** The ledger of the items' rows: base plus the distinct deltas in the topic. */
export function deltaLedger(records: readonly ReadRecord[], load: Load): Map<string, KeyLedger> {
  const drafts = new Map<string, Draft>()
  const seen = new Set<string>()
  const rows = new Map(itemKeys().map((key, item) => [key, Array.from(baseRow(item))]))
  for (const record of records) {
    const key = record.key.slice(0, record.key.indexOf('@'))
    const { value } = record
    const name = `${key} ${value.readUInt32LE(4)} ${value.readBigInt64LE(8)}`
    if (seen.has(name)) continue
    seen.add(name)
    const row = rows.get(key)!
    const before = checkOfRow(row)
    for (let i = 0; i < row.length; i++) row[i]! += value.readFloatLE(16 + 4 * i)
    append(drafts, load, { key, record, before, check: checkOfRow(row) })
  }
  for (const [key, row] of rows) {
    if (!drafts.has(key)) drafts.set(key, emptyDraft(checkOfRow(row)))
  }
  return finished(drafts)
}

function emptyDraft(check: number | undefined): Draft {
  return { partition: -1, offsets: [], storedMs: [], checks: [check] }
}

interface Entry {
  readonly key: string
  readonly record: ReadRecord
  /** `check` before the record. */
  readonly before: number | undefined
  /** `check` after the record. */
  readonly check: number
}

function append(
  drafts: Map<string, Draft>,
  load: Load,
  { key, record: { partition, offset }, before, check }: Entry,
): void {
  let draft = drafts.get(key)
  if (draft === undefined) {
    draft = { partition, offsets: [], storedMs: [], checks: [before] }
    drafts.set(key, draft)
  }
  draft.offsets.push(offset)
  draft.storedMs.push(load.stored.get(partition)?.get(offset) ?? Number.POSITIVE_INFINITY)
  draft.checks.push(check)
}

/** Corrects times: a record without acknowledgement was stored before the next one. */
function finished(drafts: Map<string, Draft>): Map<string, KeyLedger> {
  for (const { storedMs } of drafts.values()) {
    for (let i = storedMs.length - 2; i >= 0; i--) {
      storedMs[i] = Math.min(storedMs[i]!, storedMs[i + 1]!)
    }
  }
  return drafts
}

/** Number of acknowledged records that are not in the topic. */
export function missingInput(records: readonly ReadRecord[], load: Load): number {
  let missing = 0
  for (const [partition, stored] of load.stored) {
    const offsets = records.filter((one) => one.partition === partition).map(({ offset }) => offset)
    for (const offset of stored.keys()) {
      if (offsets[countBelow(offsets, offset)] !== offset) missing += 1
    }
  }
  return missing
}
