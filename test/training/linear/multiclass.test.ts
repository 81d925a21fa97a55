import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { type SparseTable, SparseTableBuilder } from '../../../src/training/data/sparse-table.ts'
import {
  crossValidateMulticlass,
  evaluateMulticlass,
  trainMulticlass,
} from '../../../src/training/linear/multiclass.ts'
import { trainLinear } from '../../../src/training/linear/train.ts'

const LABELS = [2, 3, 7] as const

/** Points around three centres of a plane, with ids from 1. */
function points(count: number, seed: number): SparseTable {
  const random = seededRandom(seed)
  const builder = new SparseTableBuilder()
  for (let i = 0; i < count; i++) {
    const place = random.below(3)
    const angle = (2 * Math.PI * place) / 3
    const at = [Math.cos(angle), Math.sin(angle)].map((each) => 2 * each + 0.8 * random.normal())
    builder.add(LABELS[place]!, [1, 2], at)
  }
  return builder.build()
}

describe('a model of several classes', () => {
  it('has for each class the model that a training of this label against the rest has', async () => {
    const table = points(300, 1)
    const model = await trainMulticlass(table, { loss: 'logistic', threads: 0 })
    expect(model.labels).toEqual(LABELS)
    for (const [place, label] of LABELS.entries()) {
      const labels = table.labels.map((each) => (each === label ? 1 : -1))
      const alone = await trainLinear({ ...table, labels }, { loss: 'logistic', threads: 0 })
      expect(model.models[place]!.weights).toEqual(alone.weights)
      expect(model.models[place]!.intercept).toBe(alone.intercept)
    }
    expect(model.classes).toEqual({ labels: LABELS, features: 3, stride: 4 })
  })

  it.each(['hinge', 'squared-hinge', 'logistic'] as const)(
    'of %s loss predicts new points about as well as the centres do',
    async (loss) => {
      const model = await trainMulticlass(points(600, 1), { loss, threads: 0 })
      const test = points(1000, 2)
      const { accuracy, macroF1, logLoss } = evaluateMulticlass(model, test)
      expect(accuracy.mean).toBeGreaterThan(nearest(test) - 0.02)
      expect(macroF1).toBeGreaterThan(0.9)
      if (loss === 'logistic') expect(logLoss!.mean).toBeLessThan(0.35)
      else expect(logLoss).toBeUndefined()
      expect(model.labelOf(model.scoresOfRow(test, 0))).toBe(test.labels[0])
    },
  )

  it('is cross-validated, also where a fold lacks a class', async () => {
    const whole = await crossValidateMulticlass(points(300, 1), 5, { threads: 0 })
    expect(whole.count).toBe(300)
    expect(whole.accuracy.mean).toBeGreaterThan(0.9)
    const builder = new SparseTableBuilder()
    for (let i = 0; i < 9; i++) builder.add(i % 2, [1], [i % 2 === 0 ? 1 : -1])
    builder.add(5, [2], [1])
    const rare = await crossValidateMulticlass(builder.build(), 10, { threads: 0 })
    expect(rare.accuracy.mean).toBeCloseTo(0.9, 12)
  })

  it('needs several labels, and not too many weights', async () => {
    const builder = new SparseTableBuilder()
    builder.add(1, [1], [1])
    builder.add(1, [2], [1])
    await expect(trainMulticlass(builder.build())).rejects.toThrow('all examples have one label')
    const wide = new SparseTableBuilder()
    for (const label of [1, 2, 3]) wide.add(label, [2 ** 26], [1])
    await expect(trainMulticlass(wide.build())).rejects.toThrow('3 classes of 67108865 features')
    const empty = new SparseTableBuilder().build()
    await expect(trainMulticlass(empty)).rejects.toMatchObject({ code: 'EMPTY_DATASET' })
  })
})

/** Share of the points whose nearest centre is their own: no classifier does better. */
function nearest({ rows, labels, values }: SparseTable): number {
  let right = 0
  for (let row = 0; row < rows; row++) {
    const [x, y] = [values[2 * row]!, values[2 * row + 1]!]
    const towards = [0, 1, 2].map(
      (place) => x * Math.cos((2 * Math.PI * place) / 3) + y * Math.sin((2 * Math.PI * place) / 3),
    )
    if (LABELS[towards.indexOf(Math.max(...towards))] === labels[row]) right++
  }
  return right / rows
}
