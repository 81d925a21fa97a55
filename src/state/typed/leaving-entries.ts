import { ByteWriter } from '../../core/byte-writer.ts'
import { writeLatin1 } from '../../core/text/latin1.ts'
import { type KeyedEntry, LIVE, PERSISTED } from '../entries/keyed-entry.ts'
import type { ChangeSink } from '../port/change.ts'
import type { StateStore, StoreChange } from '../store/state-store.ts'
import {
  STORE_KEY_HEADER,
  STORED_TOMBSTONE,
  STORED_VALUE,
  writeStoreKeyHeader,
} from './store-keys.ts'
import type { StateTable } from './table.ts'

/** Room for the entries of a usual batch. */
const FIRST_BYTES = 256 * 1024

/**
 * The entries of one batch that leaves memory, as the store has them. Each is encoded once, for the store and for the
 * sink, into a buffer that all batches share: it is outside the JavaScript heap, from where an engine would first have
 * to move each small array.
 */
export class LeavingEntries {
  private readonly writer = new ByteWriter(FIRST_BYTES)
  private changes: StoreChange[] = []

  /** The entry's change of the store, valid until `apply`; of a deleted one, `kept` leaves a tombstone there. */
  encode(table: StateTable, entry: KeyedEntry, kept: boolean): StoreChange {
    const key = this.key(table, entry)
    if ((entry.flags & LIVE) === 0 && !kept) return { key, value: undefined }
    const { writer } = this
    const from = writer.length
    if ((entry.flags & LIVE) === 0) writer.uint8(STORED_TOMBSTONE)
    else {
      writer.uint8(STORED_VALUE)
      table.encodeEntry(entry, writer)
    }
    return { key, value: writer.bytes.subarray(from, writer.length) }
  }

  /** Notes a change for `apply`. */
  store(change: StoreChange): void {
    this.changes.push(change)
  }

  /** Applies what was noted; what was encoded is void then. */
  apply(store: StateStore): void {
    const { changes } = this
    this.changes = []
    this.writer.reset()
    if (changes.length > 0) store.apply(changes)
  }

  private key(table: StateTable, entry: KeyedEntry): Uint8Array {
    const { writer } = this
    const from = writer.length
    const length = STORE_KEY_HEADER + entry.key.length
    writer.reserve(length)
    writeStoreKeyHeader(writer.bytes, from, table.id, entry.keyGroup)
    writer.length = writeLatin1(entry.key, writer.bytes, from + STORE_KEY_HEADER)
    return writer.bytes.subarray(from, writer.length)
  }
}

/** Writes a changed entry that leaves memory into `sink`; it is a deletion if it expired by `nowMs`. */
export function appendLeaving(
  sink: ChangeSink,
  table: StateTable,
  entry: KeyedEntry,
  { key, value }: StoreChange,
  nowMs: number,
): void {
  const exists = (entry.flags & LIVE) !== 0 && !table.isExpired(entry, nowMs)
  const composite = key.subarray(STORE_KEY_HEADER)
  sink.append(entry.keyGroup, table.name, composite, exists ? value!.subarray(1) : undefined)
  entry.flags |= PERSISTED
}
