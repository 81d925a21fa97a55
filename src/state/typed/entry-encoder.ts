import { ByteWriter } from '../../core/byte-writer.ts'
import { writeLatin1 } from '../../core/text/latin1.ts'
import { type KeyedEntry, LIVE, PERSISTED } from '../entries/keyed-entry.ts'
import type { ChangeSink } from '../port/change.ts'
import { PrefixViews } from '../store/prefix-views.ts'
import type { StateTable } from './table.ts'

/** Entries of typed state as bytes, for the sink of a snapshot. */
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
      table.encodeEntry(entry, this.writer)
      const value = this.values.of(this.writer.bytes, this.writer.length)
      sink.append(entry.keyGroup, table.name, key, value)
    }
    entry.flags |= PERSISTED
  }

  /** The entry's composite key; valid until the next call. */
  private keyOf(entry: KeyedEntry): Uint8Array {
    const { length } = entry.key
    if (length > this.scratch.length) this.scratch = new Uint8Array(length * 2)
    writeLatin1(entry.key, this.scratch, 0)
    return this.keys.of(this.scratch, length)
  }
}
