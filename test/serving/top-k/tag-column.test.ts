import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { itemTagRows } from '../../../src/jobs/als-serving/tag-states.ts'
import { tagRow } from '../../../src/models/item-tags.ts'
import { ExcludedKeys } from '../../../src/serving/top-k/excluded-keys.ts'
import { TopKHeap } from '../../../src/serving/top-k/heap.ts'
import { TopKScan } from '../../../src/serving/top-k/scan.ts'
import { TopKShadows } from '../../../src/serving/top-k/shadows.ts'
import { boosted, TagBoosts } from '../../../src/serving/top-k/tag-boosts.ts'
import { TagColumns } from '../../../src/serving/top-k/tag-column.ts'
import { TagFilter } from '../../../src/serving/top-k/tag-filter.ts'
import { KeyClass } from '../../../src/state/catalog/key-class.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { bytesOf, NOWHERE, V1, VectorFixture } from '../../state/vector/model.ts'

const QUERY = Float32Array.of(1, -1, 0.5, 2)
const K = 10

/** Rows with tags, and lists of them as a thread makes them. */
class Shop {
  readonly items: VectorFixture
  private readonly rows = new Map<string, readonly number[]>()
  private readonly bits = new Map<string, readonly number[]>()
  private readonly tags: VectorFixture
  private readonly tagClass: KeyClass
  private readonly shadows = new TopKShadows(new ManualClock(0), 2 ** 26)
  private readonly columns = new TagColumns()
  private readonly random = seededRandom(11)

  constructor(items: number, rowShift = 5) {
    this.items = new VectorFixture({ rowShift })
    this.tags = new VectorFixture({ descriptor: itemTagRows(), rowShift: 4 })
    this.tags.tables.openVersion(V1)
    this.tagClass = new KeyClass(this.tags.shares.get(V1)!)
    this.tagClass.open(this.tags.shares.get(V1)!)
    for (let i = 0; i < items; i++) this.put(`${i}-I`)
  }

  /** `scale`: how much larger the row is than others. */
  put(key: string, scale = 1): void {
    const vector = Array.from({ length: 4 }, () => Math.fround(scale * this.random.normal()))
    this.rows.set(key, vector)
    this.items.put(key, ...vector)
  }

  remove(key: string): void {
    this.rows.delete(key)
    this.items.remove(key)
  }

  tag(key: string, ...bits: readonly number[]): void {
    this.bits.set(key, bits)
    this.tags.tables.put(V1, bytesOf(key), tagRow(bits), NOWHERE)
  }

  /** The best keys with a bit and without another one; `between` is called after each step. */
  best(anyOf: number, noneOf: number, between: () => void = () => {}): readonly string[] {
    const masks = {
      anyOf: { low: 1 << anyOf, high: 0 },
      noneOf: { low: 0, high: 1 << (noneOf - 32) },
    }
    return this.listed(new TagFilter(this.tagClass.versions.get(V1)!, masks), between)
  }

  /** The best keys where these bits have factors. */
  bestBoosted(factors: Readonly<Record<number, number>>, between?: () => void): readonly string[] {
    const boosts = Object.entries(factors).map(([bit, factor]) => ({ bit: Number(bit), factor }))
    const masks = { anyOf: undefined, noneOf: { low: 0, high: 0 } }
    const tags = this.tagClass.versions.get(V1)!
    return this.listed(new TagFilter(tags, masks, new TagBoosts(boosts)), between)
  }

  private listed(tags: TagFilter, between: () => void = () => {}): readonly string[] {
    const query = {
      vector: QUERY,
      k: K,
      suffix: bytesOf('-I'),
      exclude: new ExcludedKeys([]),
      tags,
    }
    const heap = new TopKHeap(query, 64)
    const { shadows, columns } = this
    const scan = new TopKScan(this.items.reader(), [heap], { shadows, columns })
    while (!scan.run(() => true)) between()
    return heap
      .takeRanked()
      .toList()
      .map(({ key }) => key)
  }

  /** The same by plain computation. */
  expected(anyOf: number, noneOf: number): readonly string[] {
    return [...this.rows]
      .filter(([key]) => {
        const bits = this.bits.get(key) ?? []
        return bits.includes(anyOf) && !bits.includes(noneOf)
      })
      .map(([key, v]) => ({ key, score: v.reduce((sum, x, i) => sum + x * QUERY[i]!, 0) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, K)
      .map(({ key }) => key)
  }

  /** As `bestBoosted`, by plain computation. */
  expectedBoosted(factors: Readonly<Record<number, number>>): readonly string[] {
    const factorOf = (key: string): number =>
      (this.bits.get(key) ?? []).reduce((product, bit) => product * (factors[bit] ?? 1), 1)
    return [...this.rows]
      .map(([key, v]) => {
        const score = v.reduce((sum, x, i) => sum + x * QUERY[i]!, 0)
        return { key, score: boosted(score, factorOf(key)) }
      })
      .sort((a, b) => b.score - a.score)
      .slice(0, K)
      .map(({ key }) => key)
  }
}

function tagged(share: number): Shop {
  const shop = new Shop(1200)
  for (let i = 0; i < 1200; i++) {
    const bits = [...(i % share === 0 ? [3] : []), ...(i % 5 === 0 ? [40] : [])]
    if (bits.length > 0) shop.tag(`${i}-I`, ...bits)
  }
  return shop
}

describe('lists with rules that a thread makes again and again', () => {
  it.each([1, 3, 50, 400])('are exact where one row in %d has the tag', (share) => {
    const shop = tagged(share)
    for (let pass = 0; pass < 4; pass++) expect(shop.best(3, 40)).toEqual(shop.expected(3, 40))
  })

  it('follow tags that change between two lists', () => {
    const shop = tagged(3)
    for (let round = 0; round < 5; round++) {
      const [first, second] = shop.best(3, 40)
      shop.tag(first!, 3, 40)
      shop.tag(second!)
      shop.tag(`${7 * round + 1}-I`, 3)
      expect(shop.best(3, 40)).toEqual(shop.expected(3, 40))
    }
  })

  it('follow rows that come, go and take the place of others', () => {
    const shop = tagged(3)
    for (let round = 0; round < 5; round++) {
      const fresh = Array.from({ length: 40 }, (_, i) => `${round}.${i}-I`)
      const tag = (from: number): void => {
        for (let i = from; i < 40; i += 2) shop.tag(fresh[i]!, ...(i % 4 < 2 ? [3] : [40]))
      }
      // The tags of an item may come long before its row, or after it.
      tag(0)
      for (const key of shop.best(3, 40).slice(0, 4)) shop.remove(key)
      for (const key of fresh) shop.put(key, 3)
      tag(1)
      expect(shop.best(3, 40)).toEqual(shop.expected(3, 40))
    }
  })

  it.each([{ 3: 1.2 }, { 3: 20, 40: 0.05 }, { 40: 0.5 }, { 3: 1.5, 40: 1.5 }])(
    'are exact with the boosts %j, and follow tags and rows that change',
    (factors) => {
      const shop = tagged(7)
      for (let round = 0; round < 6; round++) {
        expect(shop.bestBoosted(factors)).toEqual(shop.expectedBoosted(factors))
        const [first, second] = shop.bestBoosted(factors)
        shop.tag(first!, 40)
        shop.tag(second!)
        shop.remove(shop.bestBoosted(factors)[2]!)
        shop.put(`fresh${round}-I`, 2)
        shop.tag(`fresh${round}-I`, 3)
      }
    },
  )

  it('have the boosts of the row that takes the place of another during the list', () => {
    const shop = new Shop(3248, 11)
    for (let i = 0; i < 3248; i++) shop.tag(`${i}-I`, 3)
    while (shop.items.reader().takeScratch() >= 0);
    expect(shop.bestBoosted({ 3: 10 })).toEqual(shop.expectedBoosted({ 3: 10 }))
    let plain = 0
    let steps = 0
    const found = shop.bestBoosted({ 3: 10 }, () => {
      if (steps++ === 0) return
      for (let n = 0; n < 40 && plain < 200; n++, plain++) {
        shop.remove(`${3247 - plain}-I`)
        // Its score would be the highest with the boost of the row before it.
        shop.put(`plain${plain}-I`, 4)
      }
    })
    expect(plain).toBeGreaterThan(100)
    expect(found.filter((key) => key.startsWith('plain'))).toEqual([])
    expect(shop.bestBoosted({ 3: 10 })).toEqual(shop.expectedBoosted({ 3: 10 }))
  })

  it('never have a row whose tags forbid it, though it takes the place of another during the list', () => {
    // Rows of the second segment are scored one by one, and rows at its end get other keys between two steps.
    const shop = new Shop(3248, 11)
    for (let i = 0; i < 3248; i++) shop.tag(`${i}-I`, 3)
    for (let i = 0; i < 200; i++) shop.tag(`bad${i}-I`, 3, 40)
    while (shop.items.reader().takeScratch() >= 0);
    expect(shop.best(3, 40)).toEqual(shop.expected(3, 40))
    let bad = 0
    let steps = 0
    const found = shop.best(3, 40, () => {
      if (steps++ === 0) return
      for (let n = 0; n < 40 && bad < 200; n++, bad++) {
        shop.remove(`${3247 - bad}-I`)
        shop.put(`bad${bad}-I`, 100)
      }
    })
    expect(bad).toBeGreaterThan(100)
    expect(found.filter((key) => key.startsWith('bad'))).toEqual([])
    expect(found).toHaveLength(K)
    expect(shop.best(3, 40)).toEqual(shop.expected(3, 40))
  })
})
