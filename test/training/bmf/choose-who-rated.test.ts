import { describe, expect, it } from 'vitest'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { chooseWhoRated, chosenWhoRatedText } from '../../../src/training/bmf/choose-who-rated.ts'
import { type RatingsTable, ratingsTable } from '../../../src/training/data/ratings-table.ts'

/** A hundred ratings of 3, a second apart. */
const RATINGS = ratingsTable(
  Array.from({ length: 100 }, (_, n) => ({
    ...{ user: `u${n % 10}`, item: `i${n % 7}`, rating: 3 },
    timestamp: 1_000_000 + 1000 * ((n * 37) % 100),
  })),
)

const predicting = (score: number): AlsModel =>
  ({ predict: () => ({ score, coverage: 'known' }) }) as unknown as AlsModel

/** Trainings whose errors are given. */
function trials(errorWith: number, errorWithout: number) {
  const tables: RatingsTable[] = []
  const train = async (older: RatingsTable, whoRated: boolean): Promise<AlsModel> => {
    tables.push(older)
    return predicting(3 + (whoRated ? errorWith : errorWithout))
  }
  return { tables, train }
}

describe('who rated what', () => {
  it.each([
    [0.9, 1, true],
    [1, 0.9, false],
    // Less than 0.2 % is chance.
    [0.999, 1, false],
    [1, 1, false],
  ])('with an error of %f, and of %f without it: %s', async (errorWith, errorWithout, expected) => {
    const { tables, train } = trials(errorWith, errorWithout)
    const choice = await chooseWhoRated(RATINGS, train)
    expect(choice.whoRated).toBe(expected)
    expect(choice.rmseWith).toBeCloseTo(errorWith, 6)
    expect(choice.rmseWithout).toBeCloseTo(errorWithout, 6)
    for (const older of tables) {
      expect(older.size).toBe(90)
      expect(Math.max(...older.timestamp)).toBe(1_000_000 + 1000 * 89)
    }
  })

  it('is said with both errors', () => {
    const text = chosenWhoRatedText({ whoRated: false, rmseWith: 1.0341, rmseWithout: 1.0316 })
    expect(text).toBe(
      'who rated what is no feature: RMSE 1.0341 with it and 1.0316 without it on the newest tenth of the ratings',
    )
  })

  it('cannot be chosen where ratings have no time', async () => {
    const { train } = trials(1, 1)
    const timeless = ratingsTable([{ user: 'u', item: 'i', rating: 3, timestamp: -1 }])
    await expect(chooseWhoRated(timeless, train)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })
})
