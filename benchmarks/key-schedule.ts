import { seededRandom } from '../src/core/random.ts'
import { AliasTable } from '../src/models/alias-table.ts'
import { alsKey } from '../src/models/als-row.ts'
import type { ModelShape } from './model-shape.ts'

/** How keys are drawn: each alike, or a few again and again (Zipf, exponent 0.99 as in YCSB). */
export type KeyDistribution = 'uniform' | 'zipf'

const ZIPF_EXPONENT = 0.99
const DEFAULT_PAIRS = 1 << 20

/**
 * Pairs of user and item keys to ask for, drawn before anything is timed, so that Weir and its rival
 * answer the same questions and neither pays for the drawing.
 */
export class KeySchedule {
  readonly users: string[] = []
  readonly items: string[] = []
  private next = 0

  constructor(shape: ModelShape, distribution: KeyDistribution, seed = 7, pairs = DEFAULT_PAIRS) {
    const random = seededRandom(seed)
    const user = drawerOf(shape.users, distribution)
    const item = drawerOf(shape.items, distribution)
    for (let i = 0; i < pairs; i++) {
      this.users.push(alsKey(String(user(random) + 1), 'U'))
      this.items.push(alsKey(String(item(random) + 1), 'I'))
    }
  }

  /** Index of the next pair; starts again after the last. */
  advance(): number {
    const at = this.next
    this.next = at + 1 === this.users.length ? 0 : at + 1
    return at
  }
}

type Drawer = (random: ReturnType<typeof seededRandom>) => number

function drawerOf(count: number, distribution: KeyDistribution): Drawer {
  if (distribution === 'uniform') return (random) => random.below(count)
  const weights = Float64Array.from({ length: count }, (_, rank) => (rank + 1) ** -ZIPF_EXPONENT)
  const ranks = new AliasTable(weights)
  const idOfRank = shuffled(count)
  // Popular ids must not be neighbours in the row table, or the processor's cache would flatter.
  return (random) => idOfRank[ranks.draw(random)]!
}

function shuffled(count: number): Uint32Array {
  const random = seededRandom(count)
  const ids = Uint32Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const kept = ids[i]!
    ids[i] = ids[j]!
    ids[j] = kept
  }
  return ids
}
