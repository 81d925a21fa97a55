import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { type SparseTable, SparseTableBuilder } from '../../../src/training/data/sparse-table.ts'
import type { LinearOptions } from '../../../src/training/linear/options.ts'
import { trainLinear } from '../../../src/training/linear/train.ts'

const FEATURES = 30

/** Labels that the first five of thirty features say, and some noise. */
function examples(rows: number): SparseTable {
  const random = seededRandom(9)
  const builder = new SparseTableBuilder()
  for (let row = 0; row < rows; row++) {
    const values = Array.from({ length: FEATURES }, () => random.normal())
    const score = values.slice(0, 5).reduce((sum, value, j) => sum + value * (j - 2.5), 0.4)
    builder.add(score + random.normal() > 0 ? 1 : -1, [...values.keys()], values)
  }
  return builder.build()
}

/** The least 1/2 (|w|^2 + b^2) + l1 sum |w| + C sum of log losses, by steps down the gradient that are shrunk (ISTA). */
function plainOptimum(table: SparseTable, cost: number, l1: number): Float64Array {
  const w = new Float64Array(FEATURES + 1)
  const rowOf = (row: number): number[] => [
    ...table.values.subarray(row * FEATURES, (row + 1) * FEATURES),
    1,
  ]
  const length =
    1 / (1 + (cost / 4) * table.values.reduce((sum, value) => sum + value ** 2, table.rows))
  for (let step = 0; step < 3000; step++) {
    const gradient = w.slice()
    for (let row = 0; row < table.rows; row++) {
      const x = rowOf(row)
      const y = table.labels[row]!
      const margin = y * x.reduce((sum, value, j) => sum + value * w[j]!, 0)
      for (const [j, value] of x.entries())
        gradient[j]! -= (cost * y * value) / (1 + Math.exp(margin))
    }
    for (const j of w.keys()) {
      const moved = w[j]! - length * gradient[j]!
      const shrinks = j === FEATURES ? 0 : length * l1
      w[j] = Math.sign(moved) * Math.max(0, Math.abs(moved) - shrinks)
    }
  }
  return w
}

const trainHere = (table: SparseTable, options: LinearOptions) =>
  trainLinear(table, { threads: 0, tolerance: 1e-8, maxRounds: 5000, ...options })

describe('a training with the penalty l1', () => {
  it('has the weights that a plain proximal gradient descent finds, and the same zeros', async () => {
    const table = examples(60)
    const model = await trainHere(table, { loss: 'logistic', cost: 1, l1: 4 })
    const expected = plainOptimum(table, 1, 4)
    const zeros = (weights: Float64Array): number[] =>
      [...weights.keys()].filter((j) => j < FEATURES && weights[j] === 0)
    expect(model.converged).toBe(true)
    for (let j = 0; j < FEATURES; j++) expect(model.weights[j], `${j}`).toBeCloseTo(expected[j]!, 3)
    expect(model.intercept).toBeCloseTo(expected[FEATURES]!, 3)
    expect(zeros(model.weights)).toEqual(zeros(expected))
    expect(zeros(expected).length).toBeGreaterThan(15)
  })

  it.each([
    { loss: 'hinge' },
    { loss: 'squared-hinge' },
    { loss: 'logistic' },
    { loss: 'logistic', blocks: 3, threads: 0 },
    { loss: 'squared-hinge', scale: 'deviation' },
  ] as const)('proves that its objective is the least ($loss, $blocks, $scale)', async (how) => {
    const table = examples(300)
    const cost = 0.2
    const model = await trainHere(table, { ...how, cost, l1: 5, tolerance: 1e-5 })
    const plain = await trainHere(table, { ...how, cost, tolerance: 1e-5 })
    expect(model.converged).toBe(true)
    const zeros = ({ weights }: { weights: Float64Array }): number =>
      weights.filter((weight) => weight === 0).length
    expect(zeros(plain)).toBe(0)
    expect(zeros(model)).toBeGreaterThan(FEATURES / 2)
    const right = [...table.labels].filter(
      (label, row) => model.labelOf(model.decisionOfRow(table, row)) === label,
    )
    expect(right.length / table.rows).toBeGreaterThan(0.8)
  })

  it('leaves the weight of the constant feature alone, however strong it is', async () => {
    const table = examples(100)
    const strong = await trainHere(table, { loss: 'hinge', cost: 0.1, l1: 1000 })
    expect([...strong.weights].every((weight) => weight === 0)).toBe(true)
    expect(strong.intercept).not.toBe(0)
  })

  it("is refused for Newton's method", async () => {
    const options = { loss: 'logistic', solver: 'newton', l1: 1 } as const
    await expect(trainHere(examples(10), options)).rejects.toThrow('which l1 has not at 0')
  })
})

describe('the importance of an example', () => {
  it.each([
    { loss: 'hinge', solver: 'dual' },
    { loss: 'logistic', solver: 'newton' },
  ] as const)('counts like copies of it ($loss), also times a weight of its row', async (how) => {
    const [once, copies, weighted] = [0, 0, 0].map(() => new SparseTableBuilder()) as [
      SparseTableBuilder,
      SparseTableBuilder,
      SparseTableBuilder,
    ]
    const table = examples(80)
    for (let row = 0; row < table.rows; row++) {
      const values = table.values.subarray(row * FEATURES, (row + 1) * FEATURES)
      const add = (builder: SparseTableBuilder, importance?: number): void =>
        builder.add(table.labels[row]!, [...values.keys()], values, FEATURES, importance)
      add(once, row % 2 === 0 ? 4 : 1)
      add(weighted, row % 2 === 0 ? 2 : 1)
      for (let copy = 0; copy < (row % 2 === 0 ? 4 : 1); copy++) add(copies)
    }
    const settings = { ...how, cost: 0.1, tolerance: 1e-9 }
    const expected = await trainHere(copies.build(), settings)
    const weights = Float32Array.from({ length: table.rows }, (_, row) => (row % 2 === 0 ? 2 : 1))
    for (const model of [
      await trainHere(once.build(), settings),
      await trainHere(weighted.build(), { ...settings, weights }),
    ]) {
      for (let j = 0; j < FEATURES; j++) {
        expect(model.weights[j], `${j}`).toBeCloseTo(expected.weights[j]!, 3)
      }
    }
    const plain = await trainHere(table, settings)
    expect(Math.abs(plain.weights[4]! - expected.weights[4]!)).toBeGreaterThan(0.01)
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('is not %s', (importance) => {
    const builder = new SparseTableBuilder()
    expect(() => builder.add(1, [1], [1], 1, importance)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  it('is in a table only where one is not 1', () => {
    const builder = new SparseTableBuilder()
    builder.add(1, [1], [1])
    expect(builder.build()).not.toHaveProperty('importance')
    const other = new SparseTableBuilder()
    other.add(1, [1], [1])
    other.add(1, [1], [1], 1, 0.5)
    expect([...other.build().importance!]).toEqual([1, 0.5])
  })
})
