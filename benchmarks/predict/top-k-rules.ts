import { systemClock } from '../../src/core/clock.ts'
import { seededRandom } from '../../src/core/random.ts'
import { itemTagRows } from '../../src/jobs/als-serving/tag-states.ts'
import { addBit, tagRow } from '../../src/models/item-tags.ts'
import { ExcludedKeys } from '../../src/serving/top-k/excluded-keys.ts'
import { TopKHeap } from '../../src/serving/top-k/heap.ts'
import { TopKScan } from '../../src/serving/top-k/scan.ts'
import { TopKShadows } from '../../src/serving/top-k/shadows.ts'
import { TagBoosts } from '../../src/serving/top-k/tag-boosts.ts'
import { TagColumns } from '../../src/serving/top-k/tag-column.ts'
import { TagFilter } from '../../src/serving/top-k/tag-filter.ts'
import { KeyClass, type StateVersion } from '../../src/state/catalog/key-class.ts'
import { type VectorStateDescriptor, vectorState } from '../../src/state/port/descriptors.ts'
import type { RowTableShare } from '../../src/state/rows/share.ts'
import { VersionedRows } from '../../src/state/vector/versioned-rows.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { scaled } from '../load/model-shape.ts'
import { median, rounded } from '../load/statistics.ts'

const FACTORS = 100
const K = 10
const ROUNDS = 25
const PASSES = 8
/** Shares of the items that have the tag of a rule, by its bit. */
const SHARES: readonly (readonly [bit: number, share: number])[] = [
  [0, 1],
  [1, 0.5],
  [33, 0.1],
  [63, 0.01],
]
const BOOSTED = SHARES.slice(1)
/** Factor of the boosts that are measured, of the tags of `SHARES` but the first. */
const BOOST = 1.2
const VERSION = 1 as Parameters<VersionedRows['openVersion']>[0]
const NOWHERE = { partition: -1, offset: 0, eventTime: -1 }
const encoder = new TextEncoder()

/** `topk-rules`: what rules over tags cost a top list, in CPU time of the thread, beside the list without. */
export const topKRulesBenchmark: Benchmark = {
  name: 'topk-rules',
  summary:
    'exact top-10 over 136,000 x 100 with rules over tags and boosts, against without: CPU time in turn',
  async run({ scale, say }) {
    const shop = new Shop(scaled(136_000, scale))
    const names = [
      ...SHARES.map(([, share]) => `rules-${share * 100}-percent`),
      ...BOOSTED.map(([, share]) => `boosts-${share * 100}-percent`),
    ]
    const rules = [
      undefined,
      ...SHARES.map(([bit]) => shop.rule(bit)),
      ...BOOSTED.map(([bit]) => shop.boost(bit)),
    ]
    // The codes of the rows are made first, over several passes.
    for (let pass = 0; pass < 40; pass++) for (const rule of rules) shop.list(rule)
    const ms = rules.map((): number[] => [])
    for (let round = 0; round < ROUNDS; round++) {
      rules.forEach((rule, i) => {
        const before = process.threadCpuUsage()
        for (let pass = 0; pass < PASSES; pass++) shop.list(rule)
        const { user, system } = process.threadCpuUsage(before)
        ms[i]!.push((user + system) / 1000 / PASSES)
      })
    }
    const without = median(ms[0]!)
    // Each beside the list without rules of the same round: the machine is not the same from round to round.
    const ratios = ms.slice(1).map((all) => median(all.map((one, round) => one / ms[0]![round]!)))
    names.forEach((name, i) => {
      say(`${name}: ${median(ms[i + 1]!).toFixed(2)} ms, without ${without.toFixed(2)} ms`)
    })
    return names.map((name, i) => ({
      name: `topk-${name}`,
      value: ratios[i]!,
      unit: 'times the time without',
      ...(i < SHARES.length ? { target: 1.15 } : {}),
      higher: false,
      details: { items: shop.items, factors: FACTORS, k: K, msWithout: rounded(without) },
    }))
  },
}

/** Rows with tags in the memory of this thread. */
class Shop {
  readonly items: number
  private readonly reader: StateVersion['readers'][number]
  private readonly tags: StateVersion
  private readonly shadows = new TopKShadows(systemClock, 2 ** 28)
  private readonly columns = new TagColumns()
  private readonly random = seededRandom(3)
  private asked = 0
  private readonly queries: readonly Float32Array[]

  constructor(items: number) {
    this.items = items
    const { random } = this
    const row = (): Float32Array => Float32Array.from({ length: FACTORS }, () => random.normal())
    this.queries = Array.from({ length: 64 }, row)
    const descriptor = vectorState('items', { dimension: FACTORS, keySuffix: '-I' })
    const rows = tableOf(descriptor, items, row)
    this.reader = rows.readers[0]!
    this.tags = tableOf(itemTagRows(), items, (item) =>
      tagRow(SHARES.filter(([, share]) => item % Math.round(1 / share) === 0).map(([bit]) => bit)),
    )
  }

  /** The rule for items with a tag. */
  rule(bit: number): TagFilter {
    const anyOf = { low: 0, high: 0 }
    addBit(anyOf, bit)
    return new TagFilter(this.tags, { anyOf, noneOf: { low: 0, high: 0 } })
  }

  /** A factor for items with a tag. */
  boost(bit: number): TagFilter {
    const masks = { anyOf: undefined, noneOf: { low: 0, high: 0 } }
    return new TagFilter(this.tags, masks, new TagBoosts([{ bit, factor: BOOST }]))
  }

  /** Computes the list of the next user. */
  list(rule: TagFilter | undefined): void {
    const vector = this.queries[this.asked++ % this.queries.length]!
    const tags = rule === undefined ? {} : { tags: rule }
    const query = {
      vector,
      k: K,
      suffix: encoder.encode('-I'),
      exclude: new ExcludedKeys([]),
      ...tags,
    }
    const { shadows, columns } = this
    new TopKScan(this.reader, [new TopKHeap(query, 64)], { shadows, columns }).run(() => false)
  }
}

/** A table of one slot with a row for each item. */
function tableOf(
  descriptor: VectorStateDescriptor,
  items: number,
  rowOf: (item: number) => Float32Array,
): StateVersion {
  let share: RowTableShare | undefined
  const rows = new VersionedRows({
    operatorUid: 'benchmark',
    descriptor,
    keyGroups: { first: 0, last: 127 },
    maxParallelism: 128,
    slot: 0,
    memoryBudgetBytes: Number.MAX_SAFE_INTEGER,
    listener: {
      tableOpened: (opened) => {
        share = opened
      },
      tableDropped: () => {},
    },
    spillSink: () => ({ append: () => {} }),
  })
  rows.openVersion(VERSION)
  for (let item = 0; item < items; item++) {
    rows.put(VERSION, encoder.encode(`${item}-I`), rowOf(item), NOWHERE)
  }
  const keyClass = new KeyClass(share!)
  keyClass.open(share!)
  return keyClass.versions.get(VERSION)!
}
