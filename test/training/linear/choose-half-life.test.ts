import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { type SparseTable, SparseTableBuilder } from '../../../src/training/data/sparse-table.ts'
import { chooseLinearHalfLife } from '../../../src/training/linear/choose-half-life.ts'
import { evaluateLinear } from '../../../src/training/linear/evaluate.ts'
import type { LinearModel } from '../../../src/training/linear/model.ts'
import { trainLinear } from '../../../src/training/linear/train.ts'

const FEATURES = 12
const COUNT = 6000

/** Examples with a second between them; by their end the true direction has turned by an angle. */
function examples(angle: number): { readonly table: SparseTable; readonly times: Float64Array } {
  const random = seededRandom(21)
  const [first, second] = [0, 1].map(() => Array.from({ length: FEATURES }, () => random.normal()))
  const builder = new SparseTableBuilder()
  for (let n = 0; n < COUNT; n++) {
    const turned = (angle * n) / COUNT
    const values = Array.from({ length: FEATURES }, () => random.normal())
    const score = values.reduce(
      (sum, value, j) =>
        sum + value * (Math.cos(turned) * first![j]! + Math.sin(turned) * second![j]!),
      0,
    )
    builder.add(score + random.normal() > 0 ? 1 : -1, [...values.keys()], values)
  }
  return { table: builder.build(), times: Float64Array.from({ length: COUNT }, (_, n) => 1000 * n) }
}

const trainOn =
  (table: SparseTable) =>
  (rows: Uint32Array, weights: Float32Array | undefined): Promise<LinearModel> =>
    trainLinear(table, { loss: 'logistic', threads: 0, cost: 0.1, rows, weights })

describe('the half-life of a linear model', () => {
  it('is chosen where what the labels follow turns, and predicts what comes next better', async () => {
    const { table, times } = examples(Math.PI)
    const known = Math.round(0.9 * COUNT)
    const builder = new SparseTableBuilder()
    for (let row = 0; row < known; row++) {
      const [from, to] = [table.offsets[row]!, table.offsets[row + 1]!]
      builder.add(
        table.labels[row]!,
        table.indexes.subarray(from, to),
        table.values.subarray(from, to),
      )
    }
    const older = builder.build()
    const olderTimes = times.subarray(0, known)
    const train = trainOn(older)
    const halfLifeMs = await chooseLinearHalfLife(older, { times: olderTimes, train })
    expect(halfLifeMs).toBeLessThan((1000 * COUNT) / 4)
    const all = Uint32Array.from({ length: known }, (_, row) => row)
    const newest = olderTimes[known - 1]!
    const weights = Float32Array.from(olderTimes, (at) => 2 ** ((at - newest) / halfLifeMs!))
    const next = Uint32Array.from({ length: COUNT - known }, (_, n) => known + n)
    const accuracy = (model: LinearModel): number =>
      evaluateLinear(model, table, next).accuracy.mean
    const [weighed, plain] = [await train(all, weights), await train(all, undefined)].map(accuracy)
    console.log(`accuracy on what comes next: ${weighed} with ${halfLifeMs} ms, ${plain} without`)
    expect(weighed).toBeGreaterThan(plain! + 0.05)
  })

  it('is none where nothing turns, where all have one time, and where the older ones have one label', async () => {
    const { table, times } = examples(0)
    const train = trainOn(table)
    expect(await chooseLinearHalfLife(table, { times, train })).toBeUndefined()
    const once = new Float64Array(COUNT).fill(5)
    expect(await chooseLinearHalfLife(table, { times: once, train })).toBeUndefined()
    const labels = table.labels.map((_, row) => (row < 0.95 * COUNT ? 1 : -1))
    expect(await chooseLinearHalfLife({ ...table, labels }, { times, train })).toBeUndefined()
  })

  it('does not depend on the order of the examples', async () => {
    const { table, times } = examples(Math.PI)
    const builder = new SparseTableBuilder()
    const backwards = [...times.keys()].reverse()
    for (const row of backwards) {
      const [from, to] = [table.offsets[row]!, table.offsets[row + 1]!]
      builder.add(
        table.labels[row]!,
        table.indexes.subarray(from, to),
        table.values.subarray(from, to),
      )
    }
    const turned = builder.build()
    const other = {
      times: Float64Array.from(backwards, (row) => times[row]!),
      train: trainOn(turned),
    }
    expect(await chooseLinearHalfLife(turned, other)).toBe(
      await chooseLinearHalfLife(table, { times, train: trainOn(table) }),
    )
  })

  it('is refused where an example has no time', async () => {
    const { table, times } = examples(0)
    const untimed = times.with(3, -1)
    await expect(
      chooseLinearHalfLife(table, { times: untimed, train: trainOn(table) }),
    ).rejects.toThrow(`1 of ${COUNT} observations have no time`)
  })
})
