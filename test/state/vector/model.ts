import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import type { ModelVersion } from '../../../src/core/model-version.ts'
import type { ChangeSink } from '../../../src/state/port/change.ts'
import { MISSING, RowTableReader, SPILLED } from '../../../src/state/rows/reader.ts'
import type { RowTableShare } from '../../../src/state/rows/share.ts'
import { HeapStateStore } from '../../../src/state/store/heap.ts'
import type { StateStore } from '../../../src/state/store/state-store.ts'
import type { VersionedRowsOptions } from '../../../src/state/vector/open-versions.ts'
import { VersionedRows } from '../../../src/state/vector/versioned-rows.ts'

/** Model version 1. */
export const V1 = 1 as ModelVersion
/** The origin of a write without a source record. */
export const NOWHERE = { partition: -1, offset: 0, eventTime: -1 }

const encoder = new TextEncoder()

/** UTF-8 bytes of a key. */
export function bytesOf(key: string): Uint8Array {
  return encoder.encode(key)
}

/** int32 hash of a key. */
export function hashOf(key: Uint8Array): number {
  return murmur3(key) | 0
}

/** A change that a sink received. */
export interface Change {
  readonly state: string
  readonly key: string
  readonly value: Uint8Array | undefined
}

/** A sink that keeps what it receives. */
export class ListSink implements ChangeSink {
  readonly changes: Change[] = []

  append(_group: number, state: string, key: Uint8Array, value: Uint8Array | undefined): void {
    this.changes.push({ state, key: Buffer.from(key).toString(), value: value?.slice() })
  }
}

/** Vector tables of one slot, with access to their parts for tests. */
export class VectorFixture {
  readonly tables: VersionedRows
  readonly shares = new Map<number, RowTableShare>()
  readonly store: StateStore | undefined
  spillSink = new ListSink()
  private readonly readers = new Map<number, RowTableReader>()

  constructor(options: Partial<VersionedRowsOptions> & { readonly spill?: boolean } = {}) {
    this.store = options.spill ? new HeapStateStore() : undefined
    this.tables = new VersionedRows({
      operatorUid: 'model',
      descriptor: {
        kind: 'vector',
        name: 'rows',
        dimension: 4,
        queryableName: 'MODEL',
        meanKey: 'MEAN',
      },
      keyGroups: { first: 0, last: 127 },
      maxParallelism: 128,
      slot: 0,
      memoryBudgetBytes: Number.MAX_SAFE_INTEGER,
      listener: {
        tableOpened: (share) => this.shares.set(share.version, share),
        tableDropped: (_state, version) => this.shares.delete(version),
      },
      spillSink: () => this.spillSink,
      ...(this.store === undefined ? {} : { store: this.store }),
      ...options,
    })
  }

  put(key: string, ...vector: number[]): void {
    this.tables.put(V1, bytesOf(key), Float32Array.from(vector), NOWHERE)
  }

  add(key: string, ...delta: number[]): void {
    this.tables.add(V1, bytesOf(key), Float32Array.from(delta), NOWHERE)
  }

  remove(key: string): boolean {
    return this.tables.remove(V1, bytesOf(key))
  }

  get(key: string): number[] | undefined {
    const row = this.tables.get(V1, bytesOf(key))
    return row === undefined ? undefined : [...row.vector]
  }

  reader(version: ModelVersion = V1): RowTableReader {
    const share = this.shares.get(version)!
    let reader = this.readers.get(version)
    if (reader === undefined || reader.share !== share) {
      reader = new RowTableReader(share)
      this.readers.set(version, reader)
    }
    return reader
  }

  /** The row as a reader in another thread sees it: floats, or the outcome of `find`. */
  seen(key: string): number[] | number {
    const bytes = bytesOf(key)
    const reader = this.reader()
    const row = reader.find(bytes, 0, bytes.length, hashOf(bytes))
    if (row < 0) return row
    const target = new Float32Array(4)
    if (!reader.readInto(row, reader.foundSequence, target, 0)) throw new Error('row changed')
    return [...target]
  }

  /** The row as a reader at the level `checkpoint` sees it, asking the slot when it was spilled. */
  seenAt(checkpointId: number, key: string): number[] | undefined {
    const bytes = bytesOf(key)
    const target = new Float32Array(4)
    const meta = { updateCount: 0, partition: 0, offset: 0, eventTime: 0 }
    const read = (): number =>
      this.reader().readAtInto(checkpointId, bytes, 0, bytes.length, hashOf(bytes), target, 0, meta)
    let outcome = read()
    if (outcome === SPILLED) {
      this.tables.answerRows(V1, [bytes], true)
      outcome = read()
    }
    if (outcome === MISSING || outcome === SPILLED) return undefined
    if (outcome < 0) throw new Error(`outcome ${outcome}`)
    return [...target]
  }

  /** Runs a whole snapshot. */
  snapshot(checkpointId: number, full = false): ListSink {
    const sink = new ListSink()
    const snapshot = this.tables.snapshot(checkpointId, sink, full)
    while (!snapshot.step(1));
    return sink
  }
}
