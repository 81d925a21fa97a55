import { describe, expect, it } from 'vitest'
import type { ModelVersion } from '../../../src/core/model-version.ts'
import { vectorState } from '../../../src/state/port/descriptors.ts'
import { HeapStateStore } from '../../../src/state/store/heap.ts'
import type { StateStore, StoreChange } from '../../../src/state/store/state-store.ts'
import { VersionedRows } from '../../../src/state/vector/versioned-rows.ts'
import { ALL_GROUPS, MAX_PARALLELISM, StandingClock, text } from '../keyed-state-fixture.ts'

const V1 = 1 as ModelVersion
const ROWS = 400

/** A heap store that counts its calls. */
class CountingStore implements StateStore {
  written = 0
  gets = 0
  readonly batches: number[] = []
  private readonly inner = new HeapStateStore()

  get(key: Uint8Array): Uint8Array | undefined {
    this.gets++
    return this.inner.get(key)
  }

  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    this.batches.push(keys.length)
    return this.inner.getMany(keys)
  }

  apply(changes: readonly StoreChange[]): void {
    this.written += changes.length
    this.inner.apply(changes)
  }

  scan(from: Uint8Array, to: Uint8Array): ReturnType<StateStore['scan']> {
    return this.inner.scan(from, to)
  }

  close(): void {
    this.inner.close()
  }
}

/** 400 rows of four floats, few of them in memory, every one of them in the store as it is. */
function spilledTable(): { readonly tables: VersionedRows; readonly store: CountingStore } {
  const store = new CountingStore()
  const tables = new VersionedRows({
    operatorUid: 'model',
    descriptor: vectorState('rows', { dimension: 4 }),
    keyGroups: ALL_GROUPS,
    maxParallelism: MAX_PARALLELISM,
    slot: 0,
    memoryBudgetBytes: 8000,
    store,
    listener: { tableOpened() {}, tableDropped() {} },
    spillSink: () => ({ append() {} }),
    clock: new StandingClock(),
    rowShift: 3,
  })
  const origin = { partition: 0, offset: 0, eventTime: 0 }
  for (let n = 0; n < ROWS; n++) tables.put(V1, text(`${n}`), new Float32Array(4).fill(n), origin)
  for (let n = 0; n < ROWS; n++) tables.get(V1, text(`${n}`))
  store.written = 0
  store.gets = 0
  return { tables, store }
}

describe('spilled rows', () => {
  it('that are only read leave memory again without a write', () => {
    const { tables, store } = spilledTable()
    for (let n = 0; n < ROWS; n++) {
      expect(tables.get(V1, text(`${n}`))!.vector[0]).toBe(n)
    }
    expect(store.gets).toBeGreaterThan(ROWS / 2)
    expect(store.written).toBe(0)
  })

  it('are written when they leave after a change', () => {
    const { tables, store } = spilledTable()
    const origin = { partition: 0, offset: 1, eventTime: 0 }
    tables.put(V1, text('7'), new Float32Array(4).fill(-7), origin)
    for (let n = 100; n < ROWS; n++) tables.get(V1, text(`${n}`))
    expect(store.written).toBe(1)
    expect(tables.get(V1, text('7'))!.vector[0]).toBe(-7)
  })

  it('that one request asks for are read at once', () => {
    const { tables, store } = spilledTable()
    const keys = Array.from({ length: 32 }, (_, i) => text(`${i * 5}`))
    const answers = tables.answerRows(1, keys)
    expect(answers.map(({ kind }) => kind)).toEqual(keys.map(() => 'found'))
    expect(store.batches).toHaveLength(1)
    expect(store.batches[0]).toBeGreaterThan(16)
    expect(store.gets).toBe(0)
  })
})
