import { ByteWriter } from '../../core/byte-writer.ts'
import { writeLatin1 } from '../../core/text/latin1.ts'
import type { ChangeSink } from '../port/change.ts'
import { type KeyedEntry, LIVE, PERSISTED } from './keyed-entry.ts'
import { STORED_TOMBSTONE, STORED_VALUE } from './store-keys.ts'
import type { StateTable } from './table.ts'

/** Lengths of which a view is kept: those of keys, and of most packed records. */
const MOST = 512

/** Views of the first bytes of a buffer, one for each short length, so that no entry needs a new view. */
class PrefixViews {
  private readonly views: (Uint8Array | undefined)[] = new Array<undefined>(MOST).fill(undefined)

  /** The first `length` bytes of `bytes`. */
  of(bytes: Uint8Array, length: number): Uint8Array {
    if (length >= MOST) return bytes.subarray(0, length)
    let view = this.views[length]
    if (view === undefined || view.buffer !== bytes.buffer) {
      view = bytes.subarray(0, length)
      this.views[length] = view
    }
    return view
  }
}

/** Entries of typed state as bytes, for change sinks and for the store. */
export class EntryEncoder {
  private readonly writer = new ByteWriter(4096)
  private readonly keys = new PrefixViews()
  private readonly values = new PrefixViews()
  private scratch = new Uint8Array(512)

  /** Writes one entry into `sink`; it is a deletion if it expired by `nowMs`. */
  appendTo(sink: ChangeSink, table: StateTable, entry: KeyedEntry, nowMs: number): void {
    const key = this.keyOf(entry)
    if ((entry.flags & LIVE) === 0 || table.isExpired(entry, nowMs)) {
      sink.append(entry.keyGroup, table.name, key, undefined)
    } else {
      this.writer.reset()
      this.write(table, entry)
      const value = this.values.of(this.writer.bytes, this.writer.length)
      sink.append(entry.keyGroup, table.name, key, value)
    }
    entry.flags |= PERSISTED
  }

  /** The store's value of an entry; the caller owns it. */
  storedValue(table: StateTable, entry: KeyedEntry): Uint8Array {
    const isLive = (entry.flags & LIVE) !== 0
    this.writer.reset()
    this.writer.uint8(isLive ? STORED_VALUE : STORED_TOMBSTONE)
    if (isLive) this.write(table, entry)
    return this.writer.toBytes()
  }

  /** Appends the expiry time, if the table has a time to live, and the value. */
  private write(table: StateTable, entry: KeyedEntry): void {
    if (table.ttl !== undefined) this.writer.int53(entry.time)
    table.encodeValue(entry.value, this.writer)
  }

  /** The entry's composite key; valid until the next call. */
  private keyOf(entry: KeyedEntry): Uint8Array {
    const { length } = entry.key
    if (length > this.scratch.length) this.scratch = new Uint8Array(length * 2)
    writeLatin1(entry.key, this.scratch, 0)
    return this.keys.of(this.scratch, length)
  }
}
