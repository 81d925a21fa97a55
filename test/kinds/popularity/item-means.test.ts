import { expect, it } from 'vitest'
import { ItemMeans } from '../../../src/kinds/popularity/item-means.ts'
import { trainPopularity } from '../../../src/kinds/popularity/train.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'

it('the means of a stream are those of a model that is trained on a table of the same ratings', () => {
  const ratings = [...generateRatings({ users: 40, items: 30, ratings: 500, seed: 3 })]
  const model = trainPopularity(ratingsTable(ratings))
  const stream = new ItemMeans()
  for (const { user, item, rating } of ratings) stream.add(user, item, rating)
  const { of, unknown } = stream.means()
  expect(stream.size).toBe(500)
  expect([...of.keys()].sort()).toEqual([...model.items].sort())
  for (const [item, mean] of of) expect(mean).toBeCloseTo(model.predict('1', item).score, 5)
  expect(unknown).toBeCloseTo(model.predict('1', 'no such item').score, 5)
})
