import { describe, expect, it } from 'vitest'
import { Baseline } from '../../../src/cli/training/baseline.ts'
import { ItemMeans } from '../../../src/kinds/popularity/item-means.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'

const rated = (user: string, item: string, rating: number): Rating => ({
  ...{ user, item, rating },
  timestamp: -1,
})

/** Without damping, the items are predicted as 5, 2 and 3. */
function baseline(): Baseline {
  const means = new ItemMeans()
  means.add('ann', 'best', 5)
  means.add('ann', 'worst', 1)
  means.add('bob', 'worst', 3)
  means.add('bob', 'middle', 3)
  return new Baseline(means.means(0))
}

describe('the baseline of an evaluation', () => {
  it('is measured on the ratings that pass, and passes all of them', async () => {
    const measured = baseline()
    const held = [rated('ann', 'best', 4), rated('new', 'worst', 5), rated('ann', 'new', 3)]
    const passed: Rating[] = []
    for await (const piece of measured.beside(ratingsTable(held))) passed.push(...piece)
    expect(passed).toEqual(held)
    expect(measured.errors()).toMatchObject({ count: 3, coverage: { known: 2, coldItem: 1 } })
    expect(measured.errors().mse).toBeCloseTo(
      ((4 - 5) ** 2 + (5 - 2) ** 2 + (3 - (5 + 2 + 3) / 3) ** 2) / 3,
      6,
    )
  })

  it('lists the best items that a user does not know', () => {
    expect(baseline().list(2)).toEqual(['best', 'middle'])
    expect(baseline().list(3, new Set(['best']))).toEqual(['middle', 'worst'])
  })
})
