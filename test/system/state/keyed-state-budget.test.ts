import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { ModelVersion } from '../../../src/core/model-version.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { bytesSerializer } from '../../../src/core/serializer.ts'
import { valueState, vectorState } from '../../../src/state/port/descriptors.ts'
import type { StateStoreType } from '../../../src/state/store/state-store.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { collectGarbage } from '../../run/collect-garbage.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { Backends, finish, Segment, select, text } from '../../state/keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

const MEGABYTE = 1024 * 1024
const BUDGET = 16 * MEGABYTE
const VALUE_BYTES = 10_000
const KEYS = 20_000

/** The short part has one, by the seed. */
const STORES = (['rocksdb', 'leveldb'] as const satisfies StateStoreType[])
  .map((storeType) => ({ storeType }))
  .filter((_, n) => campaignSize(n === commitSeed() % 2, true))

describe.each<{ storeType: StateStoreType }>(STORES)(
  'typed state on $storeType far above its budget',
  ({ storeType }) => {
    it('keeps 200 MB of values with 16 MB of memory', async () => {
      const backend = await backends.create({ storeType, budget: BUDGET })
      const accounted = (): number => backends.metrics.snapshot()['typedStateBytes']!
      let spilled = 0
      backend.setSpillSink({ append: () => void spilled++ })
      const state = backend.value(valueState<Uint8Array>('blob', { serializer: bytesSerializer }))
      let peak = 0
      for (let n = 0; n < KEYS; n++) {
        select(backend, `key-${n}`)
        state.update(new Uint8Array(VALUE_BYTES).fill(n % 251))
        if (n % 100 === 0) peak = Math.max(peak, accounted())
      }
      expect(spilled).toBeGreaterThan(KEYS * 0.9)
      const random = seededRandom(5)
      for (let n = 0; n < 5000; n++) {
        const key = random.below(KEYS)
        select(backend, `key-${key}`)
        const value = state.value()!
        expect([value.length, value[0], value[VALUE_BYTES - 1]]).toEqual([
          VALUE_BYTES,
          key % 251,
          key % 251,
        ])
        if (n % 100 === 0) peak = Math.max(peak, accounted())
      }
      expect(peak).toBeLessThanOrEqual(BUDGET)
      expect(peak).toBeGreaterThan(BUDGET / 2)
      let entries = 0
      const full = backend.snapshot(1, { append: () => void entries++ }, true)
      finish(full)
      expect(entries).toBe(KEYS)
      const incremental = new Segment()
      finish(backend.snapshot(2, incremental, false))
      expect(incremental.changes).toEqual([])
    })
  },
)

/** Bytes of JavaScript objects after a garbage collection. */
function heldBytes(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

describe('row tables far above their budget', () => {
  const ROW_BUDGET = 2 * MEGABYTE
  const ROWS = 300_000
  const version = 1 as ModelVersion

  it('keep a few bytes per spilled row, after writes, reads, snapshots and updates', async () => {
    const backend = await backends.create({ storeType: 'rocksdb', budget: ROW_BUDGET })
    const accounted = (): number => backends.metrics.snapshot()['rowTableBytes']!
    backend.setSpillSink({ append() {} })
    const rows = backend.vector(vectorState('rows', { dimension: 8, queryableName: 'ROWS' }))
    const vector = new Float32Array(8)
    const put = (n: number, value: number): void => {
      vector.fill(value)
      rows.put(version, text(`${n}-U`), vector, { partition: 0, offset: n, eventTime: 0 })
    }
    for (let n = 0; n < ROWS / 3; n++) put(n, n)
    const before = heldBytes()
    let peak = 0
    for (let n = ROWS / 3; n < ROWS; n++) {
      put(n, n)
      if (n % 1000 === 0) peak = Math.max(peak, accounted())
    }
    let entries = 0
    finish(backend.snapshot(1, { append: () => void entries++ }, true))
    expect(entries).toBe(ROWS)
    backend.checkpointCompleted(1)
    const random = seededRandom(6)
    for (let i = 0; i < 10_000; i++) {
      const n = random.below(ROWS)
      const row = rows.get(version, text(`${n}-U`))!
      expect(row.vector[0] === n || row.vector[0] === -n).toBe(true)
      if (i % 2 === 0) put(n, -n)
      if (i % 100 === 0) peak = Math.max(peak, accounted())
    }
    expect(rows.size(version)).toBe(ROWS)
    expect(peak).toBeLessThanOrEqual(1.25 * ROW_BUDGET)
    expect((heldBytes() - before) / ((ROWS * 2) / 3)).toBeLessThan(16)
  })
})
