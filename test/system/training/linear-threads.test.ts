import { expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { SparseTableBuilder } from '../../../src/training/data/sparse-table.ts'
import { trainLinear } from '../../../src/training/linear/train.ts'

function table() {
  const random = seededRandom(2)
  const builder = new SparseTableBuilder()
  for (let row = 0; row < 2000; row++) {
    const indexes = Array.from({ length: 20 }, (_, k) => 50 * k + random.below(50))
    const values = indexes.map(() => random.normal())
    const score = indexes.reduce((sum, index, k) => sum + ((index % 7) - 3) * (values[k] ?? 0), 0)
    builder.add(score + 5 * random.normal() > 0 ? 1 : -1, indexes, values)
  }
  return builder.build()
}

it.each(['hinge', 'logistic'] as const)(
  'training by %s in 4 blocks gives the same bits on 0, 1, 2 and 4 threads',
  async (loss) => {
    const examples = table()
    const options = { loss, blocks: 4, maxRounds: 6 }
    const expected = await trainLinear(examples, { ...options, threads: 0 })
    for (const threads of [1, 2, 4]) {
      const model = await trainLinear(examples, { ...options, threads })
      expect(model.weights).toEqual(expected.weights)
      expect(model.history.map(({ dual }) => dual)).toEqual(
        expected.history.map(({ dual }) => dual),
      )
    }
  },
)

it("training by Newton's method gives the same bits on 0 and 2 threads", async () => {
  const examples = table()
  const options = { loss: 'logistic', solver: 'newton', maxRounds: 20 } as const
  const expected = await trainLinear(examples, { ...options, threads: 0 })
  expect(expected.history.at(-1)?.relativeGradient).toBeDefined()
  const model = await trainLinear(examples, { ...options, threads: 2 })
  expect(model.weights).toEqual(expected.weights)
})
