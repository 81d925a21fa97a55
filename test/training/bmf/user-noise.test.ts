import { describe, expect, it } from 'vitest'
import { randomStreams, seededRandom } from '../../../src/core/random.ts'
import type { ChainState } from '../../../src/training/bmf/chain-state.ts'
import { bmfShare } from '../../../src/training/bmf/drawing/share.ts'
import { trainBmf } from '../../../src/training/bmf/train.ts'
import { drawUserWeights, squaredErrors } from '../../../src/training/bmf/user-noise.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'

const USERS = 60

/** Ratings of items with values of their own; users with an odd number scatter four times as much. */
function unevenRatings(): { user: string; item: string; rating: number; timestamp: number }[] {
  const random = seededRandom(5)
  const values = Array.from({ length: 40 }, () => random.normal() / 2)
  return Array.from({ length: USERS }, (_, user) =>
    values.map((value, item) => ({
      user: `u${user}`,
      item: `i${item}`,
      rating: 3 + value + (user % 2 === 0 ? 0.25 : 1) * random.normal(),
      timestamp: -1,
    })),
  ).flat()
}

describe('the noise of the users', () => {
  const table = ratingsTable(unevenRatings())
  const settings = { factors: 2, threads: 0, variance: false, seed: 1 }

  it('is drawn around what the errors and the prior say', () => {
    const { users, userRoots } = bmfShare(table, settings, 3)
    const random = randomStreams(3)
    let sum = 0
    for (let draw = 0; draw < 2000; draw++) {
      userRoots.fill(2)
      // The share has weighted errors: 4 times 30.
      users.objective.fill(120)
      expect(squaredErrors({ users, userRoots })).toBeCloseTo(30 * USERS, 6)
      drawUserWeights({ users, userRoots }, 0.5, random)
      sum += userRoots[7]! ** 2 / 2000
    }
    // 40 ratings and 20 degrees of freedom: (20 + 40) / (20 + 0.5 x 30).
    expect(Math.abs(sum / (60 / 35) - 1)).toBeLessThan(0.02)
  })

  it('is found by a chain, whose state keeps it', async () => {
    const states: ChainState[] = []
    const save = async (state: ChainState): Promise<void> => void states.push(state)
    const store = { load: async () => undefined, save }
    await trainBmf(table, { threads: 0, factors: 2, sweeps: 20, store })
    const { userRoots } = states.at(-1)!
    const meanOf = (odd: number): number =>
      userRoots
        .filter((_, user) => Number(table.users[user]!.slice(1)) % 2 === odd)
        .reduce((sum, root) => sum + root / (USERS / 2), 0)
    expect(meanOf(0) / meanOf(1)).toBeGreaterThan(2)
  })
})
