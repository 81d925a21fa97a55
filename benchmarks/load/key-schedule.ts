import { seededRandom } from '../../src/core/random.ts'
import { alsKey } from '../../src/models/als/row-key.ts'
import { idDrawer, type KeyDistribution } from '../../src/testing/load/keys/id-drawer.ts'
import type { ModelShape } from './model-shape.ts'

const PAIRS = 1 << 20
const SEED = 7

/**
 * Pairs of user and item keys, drawn before the clock starts. Weir and its rival answer the same questions,
 * and drawing them takes no measured time.
 */
export class KeySchedule {
  readonly users: string[] = []
  readonly items: string[] = []
  private next = 0

  constructor(shape: ModelShape, distribution: KeyDistribution) {
    const random = seededRandom(SEED)
    const user = idDrawer(shape.users, distribution)
    const item = idDrawer(shape.items, distribution)
    for (let i = 0; i < PAIRS; i++) {
      this.users.push(alsKey(String(user(random) + 1), 'U'))
      this.items.push(alsKey(String(item(random) + 1), 'I'))
    }
  }

  /** Index of the next pair; after the last pair comes the first. */
  advance(): number {
    const at = this.next
    this.next = at + 1 === this.users.length ? 0 : at + 1
    return at
  }
}
