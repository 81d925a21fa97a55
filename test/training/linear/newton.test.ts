import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { type SparseTable, SparseTableBuilder } from '../../../src/training/data/sparse-table.ts'
import { linearLoss } from '../../../src/training/linear/loss.ts'
import type { LinearOptions } from '../../../src/training/linear/options.ts'
import { trainLinear } from '../../../src/training/linear/train.ts'
import { campaignSize } from '../../run/campaign-size.ts'

interface Problem {
  /** [rows x features], without the constant feature. */
  readonly dense: readonly (readonly number[])[]
  readonly signs: readonly number[]
}

/** The scales of Spark's sample_libsvm_data: 100 pictures of two digits, 692 pixels of 0 to 255. */
function pictures(): Problem {
  const random = seededRandom(5)
  const shapes = [0, 1].map(() =>
    Array.from({ length: 692 }, () => (random.next() < 0.2 ? 255 * random.next() : 0)),
  )
  const signs = Array.from({ length: 100 }, (_, row) => (row < 43 ? -1 : 1))
  const dense = signs.map((sign) =>
    shapes[sign < 0 ? 0 : 1]!.map((shade) =>
      Math.round(Math.min(255, shade * (random.next() < 0.3 ? 0 : 0.5 + random.next()))),
    ),
  )
  return { dense, signs }
}

/** 1000 x 10 Gaussian features of standard deviation `sd`, and noisy labels. */
function gaussian(sd: number): Problem {
  const random = seededRandom(9)
  const direction = Array.from({ length: 10 }, () => random.normal())
  const dense = Array.from({ length: 1000 }, () =>
    Array.from({ length: 10 }, () => Math.fround(sd * random.normal())),
  )
  const signs = dense.map((row) => {
    const score = row.reduce((sum, value, j) => sum + (value / sd) * direction[j]!, 0)
    return score + 1.5 * random.normal() > 0 ? 1 : -1
  })
  return { dense, signs }
}

function tableOf({ dense, signs }: Problem): SparseTable {
  const builder = new SparseTableBuilder()
  for (const [row, values] of dense.entries()) {
    const present = values.flatMap((value, j) => (value === 0 ? [] : [j]))
    builder.add(
      signs[row]!,
      present,
      present.map((j) => values[j]!),
    )
  }
  return builder.build()
}

const sigmoid = (t: number): number => 1 / (1 + Math.exp(-t))

/** Objective at weights (the last is the bias), and its gradient: plain loops over a dense matrix. */
function objectiveAt({ dense, signs }: Problem, weights: readonly number[]) {
  let value = weights.reduce((sum, weight) => sum + weight * weight, 0) / 2
  const gradient = [...weights]
  const curvatures: number[] = []
  for (const [row, features] of dense.entries()) {
    const x = [...features, 1]
    const margin = signs[row]! * x.reduce((sum, each, j) => sum + each * weights[j]!, 0)
    value += margin > 0 ? Math.log1p(Math.exp(-margin)) : Math.log1p(Math.exp(margin)) - margin
    const slope = -signs[row]! * sigmoid(-margin)
    for (const [j, each] of x.entries()) gradient[j]! += slope * each
    curvatures.push(sigmoid(margin) * sigmoid(-margin))
  }
  return { value, gradient, curvatures }
}

/** Optimum by Newton's method with an exact solve by elimination: another method than the one tested. */
function exactOptimum(problem: Problem): number {
  const width = problem.dense[0]!.length + 1
  let weights = Array.from({ length: width }, () => 0)
  for (let step = 0; step < 60; step++) {
    const { value, gradient, curvatures } = objectiveAt(problem, weights)
    const hessian = gradient.map((slope, i) => {
      const line = Array.from({ length: width }, (_, j) => (i === j ? 1 : 0))
      for (const [row, features] of problem.dense.entries()) {
        const x = [...features, 1]
        for (let j = 0; j < width; j++) line[j]! += curvatures[row]! * x[i]! * x[j]!
      }
      return [...line, slope]
    })
    const direction = solved(hessian)
    let length = 1
    const at = (): number[] => weights.map((weight, j) => weight - length * direction[j]!)
    while (length > 1e-12 && objectiveAt(problem, at()).value > value) length /= 2
    // No step along a direction of descent lowers the objective: it is the least that numbers can show.
    if (length <= 1e-12 || objectiveAt(problem, at()).value === value) return value
    weights = at()
  }
  return objectiveAt(problem, weights).value
}

/** Gaussian elimination with pivoting of the lines [A | b]. */
function solved(lines: number[][]): number[] {
  const size = lines.length
  for (let i = 0; i < size; i++) {
    let pivot = i
    for (let r = i; r < size; r++)
      if (Math.abs(lines[r]![i]!) > Math.abs(lines[pivot]![i]!)) pivot = r
    ;[lines[i], lines[pivot]] = [lines[pivot]!, lines[i]!]
    for (let r = 0; r < size; r++) {
      if (r === i) continue
      const factor = lines[r]![i]! / lines[i]![i]!
      for (let c = i; c <= size; c++) lines[r]![c]! -= factor * lines[i]![c]!
    }
  }
  return lines.map((line, i) => line[size]! / line[i]!)
}

async function trainedObjective(problem: Problem, options: LinearOptions = {}) {
  const model = await trainLinear(tableOf(problem), { loss: 'logistic', threads: 0, ...options })
  const width = problem.dense[0]!.length
  const weights = Array.from({ length: width }, (_, j) => model.weights[j] ?? 0)
  return { model, ...objectiveAt(problem, [...weights, model.intercept]) }
}

describe('logistic regression on features that are not scaled', () => {
  it('is within 1e-3 of the optimum on pictures of 692 pixels of 0 to 255', async () => {
    const problem = pictures()
    const { model, value } = await trainedObjective(problem)
    expect(model.converged).toBe(true)
    const near = await trainedObjective(problem, { tolerance: 1e-10 })
    // By strong convexity the optimum is at least the value minus half the square of the gradient.
    const square = near.gradient.reduce((sum, slope) => sum + slope * slope, 0)
    expect(square / 2 / near.value).toBeLessThan(1e-4)
    const optimum = near.value - square / 2
    expect(value / optimum - 1).toBeLessThanOrEqual(1e-3)
    expect(value).toBeLessThan(0.01)
  })

  it.each([1, 300, 3000])(
    'is within 1e-3 of an exact solve at a standard deviation of %d',
    async (sd) => {
      const problem = gaussian(sd)
      const { model, value } = await trainedObjective(problem)
      expect(model.converged).toBe(true)
      expect(value / exactOptimum(problem) - 1).toBeLessThanOrEqual(1e-3)
      expect(model.history.length).toBeLessThan(60)
    },
  )

  it('ends in several blocks, too', async () => {
    const { model, value } = await trainedObjective(gaussian(300), { blocks: 4 })
    expect(model.converged).toBe(true)
    expect(value / exactOptimum(gaussian(300)) - 1).toBeLessThanOrEqual(1e-3)
  })
})

describe('squared hinge loss on features that are not scaled', () => {
  it.each([300, 3000])('reaches its tolerance at a standard deviation of %d', async (sd) => {
    const model = await trainLinear(tableOf(gaussian(sd)), { loss: 'squared-hinge', threads: 0 })
    expect(model.converged).toBe(true)
  })
})

describe("Newton's method alone", () => {
  const newton = { solver: 'newton', tolerance: 1e-8 } as const

  it.each([0.1, 10, 1000])('ends below the dual at C = %d', async (cost) => {
    const table = tableOf(gaussian(300))
    const model = await trainLinear(table, { loss: 'logistic', threads: 0, cost, ...newton })
    const dual = await trainLinear(table, { loss: 'logistic', threads: 0, cost, tolerance: 1e-4 })
    const [lowest, other] = [model, dual].map(({ history }) =>
      Math.min(...history.map(({ primal }) => primal)),
    )
    expect(model.converged).toBe(true)
    expect(lowest! / other! - 1).toBeLessThanOrEqual(1e-8)
    expect(lowest! / other! - 1).toBeGreaterThan(-1e-4)
  })

  it('certifies with the gradient: half of its square is the gap, and it is relative to that at 0', async () => {
    const problem = gaussian(30)
    const { model, value, gradient } = await trainedObjective(problem, newton)
    const length = (of: readonly number[]): number => Math.hypot(...of)
    const atZero = objectiveAt(
      problem,
      Array.from({ length: 11 }, () => 0),
    ).gradient
    const last = model.history.at(-1)
    expect(last?.relativeGap).toBeCloseTo(length(gradient) ** 2 / 2 / value, 10)
    expect(last?.relativeGradient).toBeCloseTo(length(gradient) / length(atZero), 10)
    expect(model.history[0]?.relativeGradient).toBeGreaterThan(last?.relativeGradient ?? 1)
  })

  it('is refused for the hinge loss', async () => {
    const training = trainLinear(tableOf(gaussian(1)), { threads: 0, solver: 'newton' })
    await expect(training).rejects.toThrow(/needs a loss with a derivative/)
  })

  it('is not used where the dual is asked for, however slow that is', async () => {
    const options = { loss: 'logistic', threads: 0, maxRounds: 30 } as const
    const table = tableOf(gaussian(3000))
    const dual = await trainLinear(table, { ...options, solver: 'dual' })
    expect(dual.converged).toBe(false)
    expect(dual.history.some(({ relativeGradient }) => relativeGradient !== undefined)).toBe(false)
    expect((await trainLinear(table, options)).converged).toBe(true)
  })
})

describe('scaled features', () => {
  it.each(['max', 'deviation'] as const)(
    'by %s: hinge loss converges, and the weights are those of the features as they are',
    async (scale) => {
      const [large, small] = [gaussian(3000), gaussian(3)].map(tableOf) as [
        SparseTable,
        SparseTable,
      ]
      const options = { threads: 0, maxRounds: campaignSize(100, 200) } as const
      expect((await trainLinear(large, options)).converged).toBe(false)
      const model = await trainLinear(large, { ...options, scale })
      expect(model.converged).toBe(true)
      // Scaled, both tables are one.
      const other = await trainLinear(small, { ...options, scale })
      for (const row of [0, 1, 2]) {
        expect(model.decisionOfRow(large, row)).toBeCloseTo(other.decisionOfRow(small, row), 3)
      }
      expect(model.weights[0]! / other.weights[0]!).toBeCloseTo(1e-3, 6)
    },
  )

  it('measure the validation rows with the weights of the features as they are', async () => {
    const table = tableOf(gaussian(3000))
    const validation = { table }
    const model = await trainLinear(table, { threads: 0, scale: 'max', validation })
    expect(model.history.at(-1)?.validationAccuracy).toBeGreaterThan(0.75)
  })
})

describe('training that ends without its tolerance', () => {
  it('has not converged', async () => {
    const model = await trainLinear(tableOf(gaussian(300)), { threads: 0, maxRounds: 2 })
    expect(model.converged).toBe(false)
  })
})

describe('the best dual variable of the logistic loss', () => {
  it.each([1, 1e3, 1e7, 1e12])('solves its equation where cost x |x|^2 is %d', (curvature) => {
    const loss = linearLoss('logistic', 1)
    const random = seededRandom(3)
    for (let n = 0; n < 500; n++) {
      const alpha = random.next()
      const margin = curvature * (random.next() - 0.5) * 2
      const best = loss.best(alpha, margin, curvature)
      // log(alpha / (1 - alpha)) + margin + curvature (alpha - old) changes its sign at the solution.
      const side = (at: number): number =>
        at <= 0
          ? -1
          : at >= 1
            ? 1
            : Math.sign(Math.log(at / (1 - at)) + margin + curvature * (at - alpha))
      expect(side(best * (1 - 1e-9) - 1e-12)).toBeLessThanOrEqual(0)
      expect(side(best * (1 + 1e-9) + 1e-12)).toBeGreaterThanOrEqual(0)
    }
  })
})
