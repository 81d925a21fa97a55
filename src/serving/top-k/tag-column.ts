import type { TagBits } from '../../models/item-tags.ts'
import type { StateVersion } from '../../state/catalog/key-class.ts'
import { PARTS } from '../../state/rows/layout.ts'
import type { RowTableReader } from '../../state/rows/reader.ts'
import type { TagBoosts } from './tag-boosts.ts'
import { allows, readTags, type TagMasks, tagsOfRow, WRITER_ATTEMPTS } from './tag-filter.ts'

/** Segments without tags of their rows yet. */
const NO_KEYS = -1

/** Change counters of a segment of tags. */
interface FollowedSegment {
  changes: number
  readonly parts: Int32Array
}

/**
 * Tags by the numbers of the rows that a scan reads, so that a look costs a nanosecond and not a look-up by key. It is a copy
 * of one thread, and follows two tables: a segment of rows in which a row has got a key is read again, and so is every
 * row of tags that has changed (`refreshing`). It rules out rows before they are scored; `TagFilter.accepts` decides.
 */
export class TagColumn {
  readonly tags: StateVersion
  private readonly reader: RowTableReader
  private low = new Int32Array(0)
  private high = new Int32Array(0)
  /** By segment, its counter of keys when its tags were read. */
  private keys = new Int32Array(0)
  /** By table of tags, the segments up to the changes that this has taken over. */
  private followed = new Map<RowTableReader, FollowedSegment[]>()
  private readonly bits: TagBits = { low: 0, high: 0 }
  private readonly key: Uint8Array
  private readonly tagKey = new Uint8Array(1024)

  constructor(reader: RowTableReader, tags: StateVersion) {
    this.reader = reader
    this.tags = tags
    this.key = new Uint8Array(reader.layout.maxKeyBytes)
  }

  /** Takes over the tags that have changed since the last time, in steps below a millisecond. */
  *refreshing(): Generator<void, void> {
    const before = this.followed
    const { readers } = this.tags
    const isSame = readers.length === before.size && readers.every((one) => before.has(one))
    if (!isSame) {
      this.keys.fill(NO_KEYS)
      this.followed = new Map(readers.map((reader) => [reader, before.get(reader) ?? []]))
    }
    for (const [reader, segments] of this.followed) {
      for (let segment = 0; segment < reader.segments; segment++) {
        const followed = segments[segment] ?? { changes: 0, parts: new Int32Array(PARTS) }
        segments[segment] = followed
        const changes = reader.changesOf(segment)
        if (changes === followed.changes) continue
        // It is read first: what changes meanwhile is followed the next time.
        followed.changes = changes
        this.follow(reader, segment, followed.parts)
        yield
      }
    }
  }

  /** Takes over the rows of a segment of tags that have changed. */
  private follow(reader: RowTableReader, segment: number, parts: Int32Array): void {
    const { rowsPerSegment, partShift } = reader.layout
    const counters = reader.partChangesAt(segment)
    const words = reader.memoryWords
    for (let part = 0; part < PARTS && part << partShift < rowsPerSegment; part++) {
      const changes = Atomics.load(words, counters + part)
      if (changes === parts[part]) continue
      parts[part] = changes
      const first = segment * rowsPerSegment + (part << partShift)
      for (let row = first; row < first + (1 << partShift); row++) this.takeOver(reader, row)
    }
  }

  /** Sets the tags of the row that has the key of a row of tags, if it has been read before. */
  private takeOver(tags: RowTableReader, tagRow: number): void {
    const { reader, tagKey, bits } = this
    if (!tags.isLive(tagRow)) return
    const length = tags.keyInto(tagRow, tagKey, 0)
    const row = reader.locate(tagKey, 0, length, tags.hashOf(tagRow))
    if (row < 0 || row >= this.low.length) return
    for (let attempt = 0; attempt < WRITER_ATTEMPTS; attempt++) {
      if (tagsOfRow(tags, tagRow, bits)) break
    }
    this.low[row] = bits.low
    this.high[row] = bits.high
  }

  /** Reads the tags of a segment's rows unless it has them; false where they cannot be read now. */
  prepare(segment: number): boolean {
    const { reader } = this
    if (segment >= this.keys.length) this.grow()
    const keys = reader.keysOf(segment)
    if (this.keys[segment] === keys) return true
    const first = segment * reader.layout.rowsPerSegment
    for (let row = first; row < first + reader.layout.rowsPerSegment; row++) {
      if (!this.read(row)) return false
    }
    this.keys[segment] = keys
    return true
  }

  /** Whether every row of a prepared segment still has the key whose tags this has. */
  isCurrent(segment: number): boolean {
    return this.keys[segment] === this.reader.keysOf(segment)
  }

  private grow(): void {
    const { segments, layout } = this.reader
    const grown = (from: Int32Array, length: number, value: number): Int32Array<ArrayBuffer> => {
      const to = new Int32Array(length).fill(value)
      to.set(from)
      return to
    }
    this.keys = grown(this.keys, segments, NO_KEYS)
    this.low = grown(this.low, segments * layout.rowsPerSegment, 0)
    this.high = grown(this.high, segments * layout.rowsPerSegment, 0)
  }

  /** Reads the tags of one row; false while it is written. */
  private read(row: number): boolean {
    const { reader, key, bits } = this
    const sequence = reader.openRow(row)
    if ((sequence & 1) !== 0) return false
    if (!reader.isLive(row)) return reader.unchanged(row, sequence)
    const length = reader.keyInto(row, key, 0)
    const hash = reader.hashOf(row)
    if (!reader.unchanged(row, sequence)) return false
    if (!readTags(this.tags, { key, at: 0, length, hash }, bits)) return false
    this.low[row] = bits.low
    this.high[row] = bits.high
    return true
  }

  /** Whether a row of a prepared segment may be a result. */
  allows(row: number, masks: TagMasks): boolean {
    return allows(masks, this.bitsOf(row))
  }

  /** The factor of a row of a prepared segment. */
  factorOf(row: number, boosts: TagBoosts): number {
    return boosts.factorOf(this.bitsOf(row))
  }

  private bitsOf(row: number): TagBits {
    this.bits.low = this.low[row]!
    this.bits.high = this.high[row]!
    return this.bits
  }
}

/** The columns of a thread's tables. They go with the readers of their tables. */
export class TagColumns {
  private readonly columns = new WeakMap<RowTableReader, TagColumn>()

  /** The column of a table with the tags of a filter. */
  of(reader: RowTableReader, tags: StateVersion): TagColumn {
    const known = this.columns.get(reader)
    if (known?.tags === tags) return known
    const column = new TagColumn(reader, tags)
    this.columns.set(reader, column)
    return column
  }
}
