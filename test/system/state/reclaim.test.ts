import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { WasmMemory } from '../../../src/core/lifetime/wasm-memory.ts'
import type { ModelVersion } from '../../../src/core/model-version.ts'
import { reclaimTable } from '../../../src/state/catalog/reclaim.ts'
import { vectorState } from '../../../src/state/port/descriptors.ts'
import { HeapStateStore } from '../../../src/state/store/heap.ts'
import { VersionedRows } from '../../../src/state/vector/versioned-rows.ts'
import { collectGarbage } from '../../run/collect-garbage.ts'
import { ALL_GROUPS, MAX_PARALLELISM, text } from '../../state/keyed-state-fixture.ts'

const MIB = 1024 * 1024
const PAGES = 16 * 16
const TABLES = 12

/** Memory of 16 MiB that is dropped at once; nothing is written to it. */
function dropTable(collected: FinalizationRegistry<undefined>): void {
  const memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES, shared: true })
  expect(memory.buffer.byteLength).toBe(16 * MIB)
  collected.register(memory, undefined)
  reclaimTable(memory)
}

it.each([
  ['one after the other', turn],
  ['while V8 marks', async () => {}],
])(
  'the memory of tables dropped %s is collected in a thread that does nothing else',
  async (_, between) => {
    let held = 0
    // A weak reference would keep its target through the marking in which it is looked at.
    const registry = new FinalizationRegistry<undefined>(() => {
      held -= 1
    })
    for (; held < TABLES; held++) {
      dropTable(registry)
      await between()
    }
    await expect.poll(() => held, { interval: 50 }).toBeLessThan(5)
  },
)

/** Versions 1 to `versions`, with rows that leave memory where the budget is small, all of them dropped. */
function dropVersions(versions: number, memoryBudgetBytes: number): WeakRef<WasmMemory>[] {
  const memories: WeakRef<WasmMemory>[] = []
  const tables = new VersionedRows({
    ...{ operatorUid: 'model', descriptor: vectorState('rows', { dimension: 4 }), slot: 0 },
    ...{ keyGroups: ALL_GROUPS, maxParallelism: MAX_PARALLELISM, memoryBudgetBytes, rowShift: 3 },
    store: new HeapStateStore(),
    spillSink: () => ({ append() {} }),
    listener: {
      tableOpened: ({ memory }) => memories.push(new WeakRef(memory)),
      tableDropped() {},
    },
  })
  held.push(tables)
  const origin = { partition: 0, offset: 0, eventTime: 0 }
  for (let version = 1; version <= versions; version++) {
    for (let n = 0; n < ROWS; n++) {
      tables.put(version as ModelVersion, text(`${n}`), new Float32Array(4).fill(n), origin)
    }
    tables.dropVersion(version as ModelVersion)
  }
  return memories
}

const ROWS = 400
/** The states live on; only their versions are dropped. */
const held: VersionedRows[] = []

it.each([
  ['in memory', 64 * MIB],
  ['in the store', 8000],
])(
  'a state with a store does not hold dropped versions with rows %s until its next checkpoint',
  async (_, budget) => {
    const dropped = dropVersions(5, budget)
    expect(dropped).toHaveLength(5)
    const isHeld = (): boolean => {
      collectGarbage()
      return dropped.some((memory) => memory.deref() !== undefined)
    }
    await expect.poll(isHeld, { interval: 20 }).toBe(false)
  },
)
