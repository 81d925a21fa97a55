import { createRequire } from 'node:module'
import { WeirError } from '../../core/errors.ts'
import type { StateStore, StoreChange } from './state-store.ts'

/** An opaque native object. */
type Native = object

/** The part of the binding's native module that is used here; all but open and close is synchronous. */
interface Binding {
  db_init(location: string): Native
  db_open(db: Native, options: object, done: (error: Error | null) => void): void
  db_close(db: Native, done: (error: Error | null) => void): void
  db_get_many_sync(
    db: Native,
    keys: readonly Uint8Array[],
    options: object,
  ): (Uint8Array | null | undefined)[]
  db_get_property(db: Native, name: string): string
  batch_init(): Native
  batch_put(batch: Native, key: Uint8Array, value: Uint8Array, options: object): void
  batch_del(batch: Native, key: Uint8Array, options: object): void
  batch_clear(batch: Native): void
  batch_write(db: Native, batch: Native, options: object): void
  iterator_init(db: Native, options: object): Native
  iterator_nextv_sync(
    iterator: Native,
    count: number,
  ): { readonly rows: readonly Uint8Array[]; readonly finished: boolean }
  iterator_close(iterator: Native): void
}

/** The binding's public class wraps every call in promises; the port is synchronous. */
const binding = createRequire(import.meta.url)('@nxtedition/rocksdb/binding.js') as Binding

/**
 * Memory of an engine. It takes about 5 bytes per row more for index and filter, see
 * docs/decisions/stored-state.md#rocksdb.
 */
export interface RocksDbMemory {
  /** Bytes of all write buffers; the engine may briefly take half as much again. */
  readonly writeBufferBytes: number
}

/** Entries fetched per native call of an iteration. */
const SCAN_ROWS = 256
const SCAN_BYTES = 256 * 1024
const NO_OPTIONS = {}

/** RocksDB behind the store port. The empty key, which the binding cannot hold, is kept beside it. */
export class RocksDbStateStore implements StateStore {
  private readonly db: Native
  private readonly batch: Native = binding.batch_init()
  private readonly single: Uint8Array[] = [new Uint8Array(0)]
  private readonly scans = new Set<Native>()
  private valueOfEmptyKey: Uint8Array | undefined
  private closed = false
  private readonly onClosed: () => void

  private constructor(db: Native, onClosed: () => void) {
    this.db = db
    this.onClosed = onClosed
  }

  /**
   * Opens an engine in an existing, empty folder. `onClosed` is called once the engine has closed
   * the folder, some time after `close`. Throws STORE_FAILED.
   */
  static async open(
    directory: string,
    memory: RocksDbMemory,
    onClosed: () => void = () => {},
  ): Promise<RocksDbStateStore> {
    const db = binding.db_init(directory)
    const options = {
      createIfMissing: true,
      parallelism: 2,
      compression: false,
      // The log cannot be turned off, but it is never read: the store starts empty.
      walCompression: false,
      // Levels would write each row some ten times and compress the last ones with ZSTD whatever
      // `compression` says, so that every read had to decompress.
      compaction: 'universal',
      memtableMemoryBudget: memory.writeBufferBytes,
      // No block cache: the memory layer above is the row cache, the operating system's page cache
      // keeps the files, and filling a cache of blocks costs more than it saves.
      cacheSize: 0,
      blockSize: 4096,
      // Hash indexes in blocks, and Bloom filters of the write buffers too, without which every read
      // searches each of them; files keep Bloom filters, because Ribbon filters are slower to query.
      optimize: 'point-lookup',
      filterPolicy: 'bloomfilter:10:false',
    }
    await new Promise<void>((resolve, reject) => {
      binding.db_open(db, options, (error) => {
        if (error === null || error === undefined) resolve()
        else reject(failed('open', error))
      })
    })
    return new RocksDbStateStore(db, onClosed)
  }

  get(key: Uint8Array): Uint8Array | undefined {
    if (key.length === 0) return this.getMany([key])[0]
    this.requireOpen()
    this.single[0] = key
    return this.fetch(this.single)[0] ?? undefined
  }

  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    this.requireOpen()
    // The binding answers undefined for what is not found, and null only for reads with a time limit.
    if (keys.every((key) => key.length > 0)) return this.fetch(keys) as (Uint8Array | undefined)[]
    const filled = keys.filter((key) => key.length > 0)
    const values = this.fetch(filled)
    let at = 0
    return keys.map((key) => {
      if (key.length === 0) return this.valueOfEmptyKey?.slice()
      const value = values[at] ?? undefined
      at += 1
      return value
    })
  }

  apply(changes: readonly StoreChange[]): void {
    this.requireOpen()
    let ofEmptyKey: StoreChange | undefined
    try {
      for (const change of changes) {
        if (change.key.length === 0) ofEmptyKey = change
        else if (change.value === undefined) {
          binding.batch_del(this.batch, change.key, NO_OPTIONS)
        } else binding.batch_put(this.batch, change.key, change.value, NO_OPTIONS)
      }
      binding.batch_write(this.db, this.batch, NO_OPTIONS)
    } catch (cause) {
      throw failed('write', cause)
    } finally {
      binding.batch_clear(this.batch)
    }
    if (ofEmptyKey !== undefined) this.valueOfEmptyKey = ofEmptyKey.value?.slice()
  }

  scan(from: Uint8Array, to: Uint8Array): IterableIterator<readonly [Uint8Array, Uint8Array]> {
    this.requireOpen()
    if (to.length === 0) return [][Symbol.iterator]()
    const options = {
      ...(from.length === 0 ? {} : { gte: from }),
      lt: to,
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
      highWaterMarkBytes: SCAN_BYTES,
    }
    // The native iterator fixes its view here, before the generator's first step.
    const iterator = binding.iterator_init(this.db, options)
    this.scans.add(iterator)
    return this.rows(iterator, from.length === 0 ? this.valueOfEmptyKey : undefined)
  }

  /** A figure of the engine, for example `rocksdb.cur-size-all-mem-tables`. */
  property(name: string): number {
    this.requireOpen()
    return Number(binding.db_get_property(this.db, name))
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    for (const iterator of this.scans) binding.iterator_close(iterator)
    this.scans.clear()
    binding.db_close(this.db, () => this.onClosed())
  }

  private *rows(
    iterator: Native,
    ofEmptyKey: Uint8Array | undefined,
  ): IterableIterator<readonly [Uint8Array, Uint8Array]> {
    try {
      if (ofEmptyKey !== undefined) yield [new Uint8Array(0), ofEmptyKey.slice()]
      for (;;) {
        this.requireOpen()
        const { rows, finished } = binding.iterator_nextv_sync(iterator, SCAN_ROWS)
        for (let i = 0; i < rows.length; i += 2) yield [rows[i]!, rows[i + 1]!]
        if (finished) return
      }
    } finally {
      if (this.scans.delete(iterator)) binding.iterator_close(iterator)
    }
  }

  private fetch(keys: readonly Uint8Array[]): (Uint8Array | null | undefined)[] {
    try {
      return binding.db_get_many_sync(this.db, keys, NO_OPTIONS)
    } catch (cause) {
      throw failed('read', cause)
    }
  }

  private requireOpen(): void {
    if (this.closed) throw new WeirError('ILLEGAL_STATE', 'the RocksDB store is closed')
  }
}

function failed(action: string, cause: unknown): WeirError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new WeirError(
    'STORE_FAILED',
    `RocksDB could not ${action}: ${reason}; is the disk full?`,
    {
      cause,
    },
  )
}
