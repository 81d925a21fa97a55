import { describe, expect, it } from 'vitest'
import { anonymousRow, haveBiases, implicitRow } from '../../../src/models/als/anonymous-row.ts'
import type { ImplicitTerms } from '../../../src/models/als/implicit-terms.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsOf, ratingsTable, summedByPair } from '../../../src/training/data/ratings-table.ts'

const dot = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, i) => sum + value * b[i]!, 0)

describe('the row of a user that the model does not know', () => {
  const base = Float32Array.of(0, 0, 3, 1)
  const items = [Float32Array.of(1, 0.2, 1, 0.3), Float32Array.of(-0.4, 1, 1, -0.2)]

  it('is the base row without ratings', () => {
    expect(anonymousRow(base, [], 3)).toEqual(base)
  })

  it('minimises the squared errors plus the ridge: no small change is better', () => {
    const rated = items.map((row, i) => ({ row, rating: i === 0 ? 5 : 2 }))
    const loss = (row: Float32Array): number =>
      rated.reduce((sum, one) => sum + (one.rating - dot(row, one.row)) ** 2, 0) +
      0.1 * rated.length * row.reduce((sum, value, i) => sum + (value - base[i]!) ** 2, 0)
    const found = anonymousRow(base, rated, 3)
    for (const column of [0, 1, 2]) {
      for (const change of [-0.01, 0.01]) {
        const other = found.with(column, found[column]! + change)
        expect(loss(other)).toBeGreaterThan(loss(found))
      }
    }
  })

  it('keeps the constant column', () => {
    expect(anonymousRow(base, [{ row: items[0]!, rating: 5 }], 3)[3]).toBe(1)
  })

  it('likes an item without a rating more than the base row does', () => {
    const found = anonymousRow(base, [{ row: items[0]!, rating: undefined }], 3)
    expect(dot(found, items[0]!)).toBeGreaterThan(dot(base, items[0]!) + 0.5)
  })
})

/** The Gram matrix of the items of a model, as the marker of its version has it. */
function gramOf(model: AlsModel): Float32Array {
  const packed: number[] = []
  for (let i = 0; i < model.dimension; i++) {
    for (let j = 0; j <= i; j++) {
      const rows = model.items.map((_, item) => model.row('I', item))
      packed.push(rows.reduce((sum, row) => sum + row[i]! * row[j]!, 0))
    }
  }
  return Float32Array.from(packed)
}

describe('the row of a user from events', () => {
  it.each(['n', 'sqrt-n', 'constant'] as const)(
    'is the one that the training gives a user with these events, with the penalty %s',
    async (penalty) => {
      const generated = generateRatings({ users: 60, items: 40, ratings: 900 })
      const table = summedByPair(ratingsTable(generated))
      const settings = { feedback: 'implicit', factors: 6, solver: 'cholesky', alpha: 0.7 } as const
      const options = { ...settings, regularization: 0.8, penalty, threads: 0 }
      const model = await trainAls(table, { ...options, iterations: 3 })
      // Its first half solves the users against the items of the model.
      const next = await trainAls(table, {
        ...options,
        iterations: 1,
        startingRows: (kind, id) => model.rowOf(kind, id),
      })
      const terms = { ...options, gram: gramOf(model) }
      for (const user of model.users) {
        const own = [...ratingsOf(table)].filter((one) => one.user === user)
        const events = own.map(({ item, rating }) => ({ row: model.rowOf('I', item)!, rating }))
        const row = implicitRow(undefined, events, terms)
        const trained = next.rowOf('U', user)!
        row.forEach((value, i) => {
          expect(value).toBeCloseTo(trained[i]!, 4)
        })
      }
    },
  )

  const items = [Float32Array.of(0.8, 0.1), Float32Array.of(-0.2, 0.9)]
  const gram = Float32Array.of(3, 0.2, 2)
  const terms: ImplicitTerms = { alpha: 2, regularization: 0.5, penalty: 'constant', gram }

  it('moves the row of a known user towards the item, and an event below 0 away from it', () => {
    const base = Float32Array.of(0.3, 0.2)
    const score = (rating: number | undefined): number =>
      dot(implicitRow(base, [{ row: items[1]!, rating }], terms), items[1]!)
    const before = dot(base, items[1]!)
    expect(score(1)).toBeGreaterThan(before)
    expect(score(undefined)).toBe(score(1))
    expect(score(3)).toBeGreaterThan(score(1))
    expect(score(-1)).toBeLessThan(before)
  })
})

describe('columns of biases', () => {
  it('are seen in the mean rows of both sides', () => {
    expect(haveBiases(Float32Array.of(0.1, 3, 1), Float32Array.of(0.2, 1, 0.4))).toBe(true)
    expect(haveBiases(Float32Array.of(0.1, 3, 1), Float32Array.of(0.2, 0.9, 0.4))).toBe(false)
    expect(haveBiases(Float32Array.of(0.1, 3, 0.5), Float32Array.of(0.2, 1, 0.4))).toBe(false)
  })
})
