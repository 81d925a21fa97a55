import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { newRow, scoreOf } from '../../../../src/models/als/online/rule.ts'
import { type OnlineRuleOptions, onlineRule } from '../../../../src/models/als/online/rules.ts'
import { SequentialLearner } from '../../../../src/models/als/online/sequential-learner.ts'
import { StackRule } from '../../../../src/models/als/online/stack.ts'
import { StackWeights } from '../../../../src/models/als/online/stack-weights.ts'
import { RowMoments } from '../../../../src/models/als/row-moments.ts'
import { plainSolve } from '../../../core/kernels/plain-kernels.ts'

const SHAPE = { dimension: 5, biased: true }

function moments() {
  const random = seededRandom(1)
  const side = (constant: number): RowMoments => {
    const all = new RowMoments(SHAPE.dimension)
    for (let n = 0; n < 50; n++) {
      const row = Float32Array.from({ length: SHAPE.dimension }, () => random.normal())
      row[constant] = 1
      all.add(row)
    }
    return all
  }
  return { user: side(4), item: side(3) }
}

const userRow = (): Float32Array => Float32Array.of(0.5, -0.2, 0.1, 3.4, 1)
const itemRow = (): Float32Array => Float32Array.of(0.3, 0.6, -0.1, 1, 0.2)

describe('the weights of a stack', () => {
  it('are those of the ridge regression with forgetting over all ratings', () => {
    const random = seededRandom(3)
    const start = Float64Array.of(0.5, 0.5, 0)
    const [forgetting, prior] = [0.9, 7]
    const weights = new StackWeights(start, { forgetting, prior })
    const seen: { x: number[]; y: number }[] = []
    for (let k = 0; k < 40; k++) {
      const x = [3 + random.normal(), 3 + random.normal(), 1]
      const y = 0.8 * x[0]! + 0.1 * x[1]! + 0.2
      weights.observe(Float64Array.from(x), y)
      seen.push({ x, y })
    }
    const age = (k: number): number => forgetting ** (seen.length - 1 - k)
    const matrix = [0, 1, 2].map((i) =>
      [0, 1, 2].map((j) =>
        seen.reduce((sum, { x }, k) => sum + age(k) * x[i]! * x[j]!, i === j ? prior : 0),
      ),
    )
    const right = [0, 1, 2].map((i) =>
      seen.reduce((sum, { x, y }, k) => sum + age(k) * x[i]! * y, prior * start[i]!),
    )
    for (const [i, value] of plainSolve(matrix, right).entries()) {
      expect(weights.current[i]).toBeCloseTo(value, 8)
    }
  })

  it('have a sum that is pulled to its start, too', () => {
    const random = seededRandom(4)
    const start = Float64Array.of(0.5, 0.5, 0)
    const [forgetting, prior, strength] = [0.9, 7, 60]
    const weights = new StackWeights(start, { forgetting, prior, level: { count: 2, strength } })
    const seen: { x: number[]; y: number }[] = []
    for (let k = 0; k < 40; k++) {
      const x = [3 + random.normal(), 3 + random.normal(), 1]
      const y = 0.8 * x[0]! + 0.3 * x[1]! + 0.2
      weights.observe(Float64Array.from(x), y)
      seen.push({ x, y })
    }
    const age = (k: number): number => forgetting ** (seen.length - 1 - k)
    // The penalty is prior |w - start|^2 + strength (w0 + w1 - 1)^2.
    const penalty = (i: number, j: number): number =>
      (i === j ? prior : 0) + (i < 2 && j < 2 ? strength : 0)
    const ids = [0, 1, 2]
    const matrix = ids.map((i) =>
      ids.map((j) => seen.reduce((sum, { x }, k) => sum + age(k) * x[i]! * x[j]!, penalty(i, j))),
    )
    const pulled = ids.map((i) => ids.reduce((sum, j) => sum + penalty(i, j) * start[j]!, 0))
    const right = ids.map((i) =>
      seen.reduce((sum, { x, y }, k) => sum + age(k) * x[i]! * y, pulled[i]!),
    )
    for (const [i, value] of plainSolve(matrix, right).entries()) {
      expect(weights.current[i]).toBeCloseTo(value, 8)
    }
  })

  it('stay where they start while every rating is predicted, however many there are', () => {
    const weights = new StackWeights(Float64Array.of(0.5, 0.5), { forgetting: 0.99, prior: 10 })
    for (let k = 0; k < 100_000; k++) weights.observe(Float64Array.of(3, 3), 3)
    expect(weights.current[0]).toBeCloseTo(0.5, 9)
    expect(weights.current[1]).toBeCloseTo(0.5, 9)
  })

  it('leave out what is not finite', () => {
    const weights = new StackWeights(Float64Array.of(1), { forgetting: 1, prior: 1 })
    weights.observe(Float64Array.of(2), 4)
    const before = weights.current.slice()
    weights.observe(Float64Array.of(Number.POSITIVE_INFINITY), 1)
    weights.observe(Float64Array.of(1), Number.NaN)
    expect(weights.current).toEqual(before)
  })
})

describe('the stack rule', () => {
  it('serves the weighted sum of its three predictions as an inner product', () => {
    const rule = new StackRule(SHAPE, moments(), { globalMean: 3.5, stackPrior: 0.1 })
    const delta = new Float32Array(rule.deltaLength)
    const user = newRow(userRow(), rule.userMemory, 20)
    const random = seededRandom(8)
    for (let k = 0; k < 50; k++) {
      const item = newRow(itemRow(), rule.itemMemory, 20)
      for (const i of [0, 1, 2, 4]) item.row[i] = random.normal()
      expect(rule.learn(user, item, 1 + random.below(5), delta)).toBe('learned')
    }
    const rows = [0, 1, 2].map((k) => user.memory.subarray(1 + 5 * k, 6 + 5 * k))
    const item = itemRow()
    // The served row is linear in the rows of the rules: solve for the weights and compare all columns.
    const weights = plainSolve(
      [0, 1, 4].map((column) => rows.map((row) => row[column]!)),
      [0, 1, 4].map((column) => user.row[column]!),
    )
    const constant = user.row[3]! - rows.reduce((sum, row, k) => sum + weights[k]! * row[3]!, 0)
    const expected = rows.reduce((sum, row, k) => sum + weights[k]! * scoreOf(row, item), constant)
    expect(scoreOf(user.row, item)).toBeCloseTo(expected, 3)
    expect(user.row[2]).toBeCloseTo(
      rows.reduce((sum, row, k) => sum + weights[k]! * row[2]!, 0),
      4,
    )
    expect(new Set(rows.map((row) => row[0])).size).toBe(3)
    expect(constant).not.toBe(0)
  })

  it('predicts a drifting stream better than both rules with Gram matrices', () => {
    const errorOf = (options: OnlineRuleOptions): number => {
      const rule = onlineRule(SHAPE, options, moments)
      const learner = new SequentialLearner(
        {
          row: () => undefined,
          evidence: () => 0,
          coldUser: userRow(),
          coldItem: itemRow(),
          range: { min: 1, max: 5 },
        },
        rule,
      )
      const random = seededRandom(5)
      const users = Array.from({ length: 30 }, () => random.normal())
      const items = Array.from({ length: 40 }, () => random.normal())
      for (let k = 0; k < 6000; k++) {
        const [u, i] = [random.below(30), random.below(40)]
        users[u]! += 0.1 * random.normal()
        const rating = 3 + 0.7 * users[u]! + 0.5 * items[i]! + 0.7 * random.normal()
        const clipped = Math.max(1, Math.min(5, Math.round(rating)))
        learner.learn({ user: `${u}`, item: `${i}`, rating: clipped, timestamp: k })
      }
      return learner.error.mse
    }
    const stack = errorOf({ rule: 'stack' })
    expect(stack).toBeLessThan(errorOf({ rule: 'gram' }))
    expect(stack).toBeLessThan(errorOf({ rule: 'gram', noise: 0.2, userForgetting: 0.9 }))
  })

  it('continues from its sums with the same rows, and adds those of two slots', () => {
    const [a, b] = [0, 1].map(() => new StackRule(SHAPE, moments()))
    const delta = new Float32Array(a!.deltaLength)
    const learn = (rule: StackRule, user = newRow(userRow(), rule.userMemory, 20), rating = 5) => {
      const item = newRow(itemRow(), rule.itemMemory, 20)
      rule.learn(user, item, rating, delta)
      return user
    }
    for (let k = 0; k < 20; k++) learn(a!)
    b!.shared.set(a!.shared)
    expect(learn(b!, undefined, 1).row).toEqual(learn(a!, undefined, 1).row)
  })

  it('refuses what is not finite without a change, and options out of range', () => {
    const rule = new StackRule(SHAPE, moments())
    const user = newRow(userRow(), rule.userMemory, 20)
    const item = newRow(itemRow(), rule.itemMemory, 20)
    const delta = new Float32Array(rule.deltaLength)
    expect(rule.learn(user, item, Number.NaN, delta)).toBe('refused')
    item.row[0] = Number.POSITIVE_INFINITY
    expect(rule.learn(user, item, 3, delta)).toBe('refused')
    expect(user.row).toEqual(userRow())
    expect(Math.max(...rule.shared)).toBe(0)
    for (const options of [{ stackForgetting: 0 }, { stackForgetting: 1.1 }, { stackPrior: 0 }]) {
      expect(() => new StackRule(SHAPE, moments(), options)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      )
    }
  })
})
