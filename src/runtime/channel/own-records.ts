import { copyBytes } from '../../core/copy-bytes.ts'
import { placeOf, type SourcePosition } from '../../core/position.ts'
import { FrequentKey } from '../../state/port/frequent-key.ts'
import { GROUP_RECORDS, RecordGroup } from './record-group.ts'

/** What a record takes apart from its key and value. */
const RECORD_BYTES = 52
const FIRST_CAPACITY = 1024
const NO_OBJECTS: unknown[] = []

/**
 * Records that stay in the thread: a batch of groups that the sender fills and the receiver of the same slot reads as they
 * are, without encoding. The receiver returns it with the credit, and it is filled again.
 */
export class OwnRecords {
  readonly kind = 'own'
  readonly channel: number
  /** As of an encoded batch; offsets are those of the source, so that every shift is 0. */
  positions: number[] = []
  records = 0
  /** About how many bytes of heap the records take. */
  length = 0
  /** Bytes of keys, and of values that are no objects. */
  bytes = new Uint8Array(FIRST_CAPACITY)
  private readonly position: SourcePosition
  /** Keys that lost their places while it was filled: records up to its last one may refer to them. */
  private lostKeys: FrequentKey[] = []
  /** Keys to which no record refers. */
  private spareKeys: FrequentKey[] = []
  private readonly groups = [new RecordGroup()]
  /** Number of groups that hold records, or held any before. */
  private filled = 1
  private last: RecordGroup
  private read = 0
  private end = 0
  private partition = -2
  private source: number | undefined = 0

  /** `position` is that of the record being processed, changed in place. */
  constructor(channel: number, position: SourcePosition) {
    this.channel = channel
    this.position = position
    this.last = this.groups[0]!
  }

  /** Adds a record whose value is an object of about `bytes` of heap, which then belongs to the receiver. */
  add(object: unknown, bytes: number, timestamp: number): void {
    const group = this.next(timestamp)
    group.objects[group.count++] = object
    this.length += bytes + RECORD_BYTES
  }

  /** Adds a record whose value is encoded. */
  addEncoded(value: Uint8Array, length: number, timestamp: number): void {
    const group = this.next(timestamp)
    group.valueStarts[group.count] = this.end
    group.valueLengths[group.count] = length
    group.objects[group.count++] = undefined
    this.length += length + RECORD_BYTES
    this.copy(value, 0, length)
  }

  /** Gives the last record its key; `hash` is the murmur3 of the key. */
  setKey(key: Uint8Array, start: number, length: number, hash: number): void {
    const { last } = this
    const at = last.count - 1
    last.frequent[at] = undefined
    last.hashes[at] = hash
    last.keyStarts[at] = this.end
    last.keyLengths[at] = length
    this.length += length
    this.copy(key, start, length)
  }

  /** Gives the last record a frequent key. */
  setFrequentKey(key: FrequentKey): void {
    const { last } = this
    const at = last.count - 1
    last.frequent[at] = key
    last.hashes[at] = key.hash
  }

  /** Takes a frequent key that has lost its place, and gives one to which no record refers. */
  exchange(lost: FrequentKey | undefined): FrequentKey {
    if (lost !== undefined) this.lostKeys.push(lost)
    return this.spareKeys.pop() ?? new FrequentKey()
  }

  /** The next group for the receiver; undefined at the end. */
  take(): RecordGroup | undefined {
    if (this.read === this.filled) return undefined
    const group = this.groups[this.read++]!
    group.bytes = this.bytes
    return group
  }

  /** Forgets all records, so that it can be filled again. */
  reset(): void {
    for (let i = 0; i < this.filled; i++) {
      this.groups[i]!.count = 0
      this.groups[i]!.objects = NO_OBJECTS
    }
    this.positions = []
    for (const key of this.lostKeys) this.spareKeys.push(key)
    this.lostKeys = []
    this.records = 0
    this.length = 0
    this.filled = 1
    this.last = this.groups[0]!
    this.read = 0
    this.end = 0
    this.partition = -2
  }

  /** The group of the next record, which has its timestamp and position already. */
  private next(timestamp: number): RecordGroup {
    const { position } = this
    if (position.partition !== this.partition || position.source !== this.source) this.startRun()
    if (this.last.count === GROUP_RECORDS) this.nextGroup()
    const { last } = this
    // A young array for young objects: the collector then has no references from old memory to look at.
    if (last.count === 0) last.objects = []
    last.timestamps[last.count] = timestamp
    last.offsets[last.count] = position.offset
    this.records += 1
    return last
  }

  private startRun(): void {
    const { partition, source } = this.position
    this.partition = partition
    this.source = source
    this.positions.push(this.records, placeOf(source ?? 0, partition), 0)
  }

  private nextGroup(): void {
    this.last = this.groups[this.filled] ??= new RecordGroup()
    this.filled += 1
  }

  private copy(bytes: Uint8Array, start: number, length: number): void {
    if (this.end + length > this.bytes.length) this.grow(length)
    this.end = copyBytes(bytes, start, this.bytes, this.end, length)
  }

  private grow(length: number): void {
    const grown = new Uint8Array(Math.max(this.end + length, this.bytes.length * 2))
    grown.set(this.bytes.subarray(0, this.end))
    this.bytes = grown
  }
}
