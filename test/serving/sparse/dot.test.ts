import { describe, expect, it } from 'vitest'
import { BIAS_FEATURE } from '../../../src/core/feature.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { modelVersion } from '../../../src/core/model-version.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { SparseOutcome } from '../../../src/serving/port/query-backend.ts'
import { LocalReadGroup } from '../../../src/serving/reader/read-group.ts'
import { StateCatalog } from '../../../src/state/catalog/state-catalog.ts'
import { vectorState } from '../../../src/state/port/descriptors.ts'
import type { RowTableShare } from '../../../src/state/rows/share.ts'
import { VersionedRows } from '../../../src/state/vector/versioned-rows.ts'
import { DEFERRED } from '../../../src/wire/frame.ts'
import { OK, statusOf } from '../../../src/wire/status.ts'

const VERSION = modelVersion(1)
const GROUPS = 8
const encoder = new TextEncoder()

/** Weight blocks of `range` floats on two slots (or on those of `slots`), and a group that reads them. */
class Weights {
  readonly catalog = new StateCatalog()
  readonly group = new LocalReadGroup()
  readonly outcome = new SparseOutcome()
  private readonly slots: VersionedRows[]
  private readonly range: number
  private offset = 0

  constructor(range: number, suffix = '', slots = [0, 1]) {
    this.range = range
    this.slots = slots.map((slot) => this.openSlot(slot, suffix))
    for (const slot of this.slots) slot.openVersion(VERSION)
  }

  openSlot(slot: number, suffix = ''): VersionedRows {
    return new VersionedRows({
      operatorUid: 'svm',
      descriptor: vectorState('weights', {
        dimension: this.range,
        queryableName: 'SVM_MODEL',
        keySuffix: suffix,
      }),
      keyGroups: { first: (slot * GROUPS) / 2, last: ((slot + 1) * GROUPS) / 2 - 1 },
      maxParallelism: GROUPS,
      slot,
      memoryBudgetBytes: 1 << 30,
      listener: {
        tableOpened: (share: RowTableShare) => this.catalog.add(share),
        tableDropped: () => {},
      },
      spillSink: () => {
        throw new Error('nothing spills')
      },
    })
  }

  replaceSlot(slot: number): void {
    this.slots[slot] = this.openSlot(slot)
    this.slots[slot].openVersion(VERSION)
  }

  put(block: number, weights: Float32Array): void {
    const key = encoder.encode(String(block))
    const origin = { partition: 3, offset: ++this.offset, eventTime: -1 }
    // Nothing where the slot that owns the key is not there.
    this.slots[keyGroupOf(key, GROUPS) < GROUPS / 2 ? 0 : 1]?.put(VERSION, key, weights, origin)
  }

  dot(ids: readonly number[], values: readonly number[], ages = [0, 0], live = true): number {
    const state = this.catalog.state('SVM_MODEL')!
    const consistency = { level: live ? 'live' : 'checkpoint' } as const
    this.group.prepare({ state, version: 1, checkpointId: 0, consistency }, ages, 'unknown')
    const features = {
      ids: Uint32Array.from(ids),
      values: Float32Array.from(values),
      count: ids.length,
    }
    return this.group.sparseDot(features, this.outcome)
  }
}

describe('a sparse product in place', () => {
  it('is the sum over blocks of both slots, and counts what has no weight', () => {
    const weights = new Weights(4)
    weights.put(0, Float32Array.of(1, 2, 0, 4))
    weights.put(7, Float32Array.of(5, 6, 7, 8))
    weights.put(9, Float32Array.of(0, 0, 1, 0))
    expect(weights.dot([0, 2, 3, 4, 28, 30, 38], [1, 1, 2, 9, 3, 1, 0.5])).toBe(OK)
    expect(weights.outcome).toMatchObject({ sum: 1 + 8 + 15 + 7 + 0.5, unknown: 2 })
  })

  it('equals the sum in float64 for random models, ranges and examples', () => {
    const random = seededRandom(11)
    for (const range of [1, 3, 64, 1000]) {
      const features = 20_000
      const all = Float32Array.from({ length: features }, () => random.normal())
      const weights = new Weights(range)
      for (let block = 0; block * range < features; block++) {
        const row = new Float32Array(range)
        row.set(all.subarray(block * range, Math.min(features, (block + 1) * range)))
        weights.put(block, row)
      }
      for (const count of [0, 1, 117, 5000]) {
        const ids = [...new Set(Array.from({ length: count }, () => random.below(features)))]
        ids.sort((a, b) => a - b)
        const values = Float32Array.from(ids, () => random.normal())
        expect(weights.dot(ids, [...values])).toBe(OK)
        const sum = ids.reduce((total, id, k) => total + all[id]! * values[k]!, 0)
        expect(weights.outcome.sum).toBeCloseTo(sum, 6)
        expect(weights.outcome.unknown).toBe(0)
      }
    }
  })

  it('adds the constant feature, which never counts as unknown', () => {
    const weights = new Weights(4)
    weights.put(0, Float32Array.of(1, 1, 1, 1))
    expect(weights.dot([0, BIAS_FEATURE], [2, 1])).toBe(OK)
    expect(weights.outcome).toMatchObject({ sum: 2, unknown: 0 })
    const row = new Float32Array(4)
    weights.put(Math.floor(BIAS_FEATURE / 4), row)
    weights.dot([0, BIAS_FEATURE], [2, 1])
    expect(weights.outcome).toMatchObject({ sum: 2, unknown: 0 })
    row[BIAS_FEATURE % 4] = -0.5
    weights.put(Math.floor(BIAS_FEATURE / 4), row)
    weights.dot([0, BIAS_FEATURE], [2, 1])
    expect(weights.outcome).toMatchObject({ sum: 1.5, unknown: 0 })
  })

  it('sees every write, although it caches the rows of blocks', () => {
    const weights = new Weights(2)
    for (let value = 1; value < 50; value++) {
      weights.put(5, Float32Array.of(value, 0))
      weights.dot([10], [1])
      expect(weights.outcome.sum).toBe(value)
    }
  })

  it('clears the cached rows when a slot opens its tables again', () => {
    const weights = new Weights(2)
    for (let block = 0; block < 20; block++) weights.put(block, Float32Array.of(1, 1))
    const ids = Array.from({ length: 20 }, (_, i) => 2 * i)
    const ones = ids.map(() => 1)
    weights.dot(ids, ones)
    expect(weights.outcome).toMatchObject({ sum: 20, unknown: 0 })
    for (const slot of [0, 1]) weights.replaceSlot(slot)
    expect(weights.dot(ids, ones)).toBe(OK)
    expect(weights.outcome).toMatchObject({ sum: 0, unknown: 20 })
    for (let block = 0; block < 10; block++) weights.put(block, Float32Array.of(3, 3))
    expect(weights.dot(ids, ones)).toBe(OK)
    expect(weights.outcome).toMatchObject({ sum: 30, unknown: 10 })
  })

  it('gives the position of the latest row that it read, on request', () => {
    const weights = new Weights(2)
    weights.put(0, Float32Array.of(1, 1))
    weights.put(1, Float32Array.of(1, 1))
    weights.put(2, Float32Array.of(1, 1))
    weights.outcome.withPosition = true
    weights.dot([0, 2], [1, 1])
    expect(weights.outcome).toMatchObject({ partition: 3, offset: 2 })
  })

  it('is deferred where a checkpoint is asked for, or rows are not weights', () => {
    const weights = new Weights(2)
    weights.put(0, Float32Array.of(1, 1))
    expect(weights.dot([0], [1], [0, 0], false)).toBe(DEFERRED)
    const rows = new Weights(2, '-U')
    rows.put(0, Float32Array.of(1, 1))
    expect(rows.dot([0], [1])).toBe(DEFERRED)
  })

  it('says NOT_OWNER of blocks that no slot here owns', () => {
    const weights = new Weights(2, '', [0])
    for (let block = 0; block < 30; block++) weights.put(block, Float32Array.of(1, 1))
    const statuses = Array.from({ length: 30 }, (_, n) => weights.dot([2 * n], [1], [0, -1]))
    expect(new Set(statuses)).toEqual(new Set([OK, statusOf('NOT_OWNER')]))
  })
})
