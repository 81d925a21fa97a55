import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { foldInTarget } from '../../../../src/models/als/online/fold-in.ts'
import { gramSettings } from '../../../../src/models/als/online/gram.ts'
import { newRow, type OnlineRule, scoreOf } from '../../../../src/models/als/online/rule.ts'
import {
  deltaShape,
  type ModelMoments,
  type OnlineRuleOptions,
  onlineRule,
} from '../../../../src/models/als/online/rules.ts'
import { RowMoments } from '../../../../src/models/als/row-moments.ts'
import { invertPacked, multiplyPacked } from '../../../../src/models/als/small-symmetric.ts'
import { campaignSize } from '../../../run/campaign-size.ts'
import { commitSeed } from '../../../services/commit-seed.ts'

const BIASED = { dimension: 5, biased: true }
const PLAIN = { dimension: 4, biased: false }
/** Without the limit of newcomers. */
const UNLIMITED = Number.POSITIVE_INFINITY

function moments(dimension: number, biased: boolean): ModelMoments {
  const random = seededRandom(1)
  const side = (constant: number): RowMoments => {
    const all = new RowMoments(dimension)
    for (let n = 0; n < 50; n++) {
      const row = Float32Array.from({ length: dimension }, () => random.normal())
      if (biased) row[constant] = 1
      all.add(row)
    }
    return all
  }
  return { user: side(dimension - 1), item: side(dimension - 2) }
}

function rule(options: OnlineRuleOptions, shape = BIASED): OnlineRule {
  return onlineRule(shape, options, () => moments(shape.dimension, shape.biased))
}

function expectClose(found: Float32Array, expected: ArrayLike<number>): void {
  for (const [i, value] of found.entries()) expect(value).toBeCloseTo(expected[i]!, 2)
}

/** One rating, learned and folded. */
function learned(made: OnlineRule, p: number[], q: number[], rating = 4) {
  const user = newRow(Float32Array.from(p), made.userMemory, 20)
  const item = newRow(Float32Array.from(q), made.itemMemory, 20)
  const delta = new Float32Array(made.deltaLength)
  const outcome = made.learn(user, item, rating, delta)
  const folding = outcome === 'refused' ? outcome : made.fold(item, delta)
  return { user, item, delta, outcome, folding }
}

interface PlainStep {
  readonly learningRate: number
  readonly globalMean: number
  readonly biased: boolean
  readonly gradientClip?: number
  readonly normCap?: number
}

/** The SGD step of a fresh row x towards y, in float64 and without any care for speed. */
function plainStep(
  x: readonly number[],
  y: readonly number[],
  rating: number,
  options: PlainStep,
  side: 'user' | 'item',
): number[] {
  const { learningRate, globalMean, biased, gradientClip = 100, normCap = 1000 } = options
  const constant = biased ? x.length - (side === 'user' ? 1 : 2) : -1
  const centred = biased && side === 'user' ? x.length - 2 : -1
  const error = rating - x.reduce((sum, value, i) => sum + value * y[i]!, 0)
  const gradient = x.map((value, i) => {
    const pulled = i === centred ? value - globalMean : value
    return i === constant ? 0 : error * y[i]! - 0.02 * pulled
  })
  const clip = Math.min(1, gradientClip / Math.hypot(...gradient))
  const next = x.map((value, i) => value + learningRate * clip * gradient[i]!)
  const length = Math.hypot(...next.filter((_, i) => i !== constant))
  return next.map((value, i) => (i === constant ? value : value * Math.min(1, normCap / length)))
}

function expectNear(found: Float32Array, expected: readonly number[]): void {
  for (const [i, value] of found.entries()) expect(value).toBeCloseTo(expected[i]!, 5)
}

describe('the SGD rule', () => {
  const P = [0.5, -0.2, 0.1, 0.4]
  const Q = [0.3, 0.6, -0.1, 0.2]

  it.each(['pair', 'step'] as const)(
    "does the ancestor's simultaneous step, deltas %s",
    (deltas) => {
      const options = { rule: 'sgd', learningRate: 0.1, deltas, newcomers: UNLIMITED } as const
      const { user, item } = learned(rule({ ...options, userRegularization: 0.01 }, PLAIN), P, Q)
      const e = 4 - scoreOf(Float32Array.from(P), Float32Array.from(Q))
      P.forEach((p, i) => {
        expect(user.row[i]).toBeCloseTo(p + 0.1 * (e * Q[i]! - 0.01 * p), 5)
        expect(item.row[i]).toBeCloseTo(Q[i]! + 0.1 * (e * p - 0.02 * Q[i]!), 5)
      })
    },
  )

  it.each(['pair', 'step'] as const)(
    'sees the new user row with user-first, deltas %s',
    (deltas) => {
      const options = { rule: 'sgd', learningRate: 0.1, order: 'user-first', deltas } as const
      const none = { newcomers: UNLIMITED, userRegularization: 0, itemRegularization: 0 }
      const { user, item } = learned(rule({ ...options, ...none }, PLAIN), P, Q)
      const e = 4 - scoreOf(Float32Array.from(P), Float32Array.from(Q))
      Q.forEach((q, i) => {
        expect(item.row[i]).toBeCloseTo(q + 0.1 * e * user.row[i]!, 5)
      })
    },
  )

  it('equals a step that computes the gradient first, for every shape, clip, cap and schedule', () => {
    const random = seededRandom(7)
    for (const shape of [PLAIN, BIASED, { dimension: 101, biased: true }]) {
      for (const guards of [{}, { gradientClip: 0.5 }, { normCap: 1.2 }]) {
        for (const schedule of ['constant', 'adagrad'] as const) {
          const options = { rule: 'sgd', learningRate: 0.1, globalMean: 3, ...guards } as const
          const made = rule({ ...options, schedule, newcomers: UNLIMITED }, shape)
          const normal = (): number[] =>
            Array.from({ length: shape.dimension }, () => random.normal() * 0.4)
          const [p, q] = [normal(), normal()]
          if (shape.biased) {
            p[shape.dimension - 1] = 1
            q[shape.dimension - 2] = 1
          }
          const { user, item } = learned(made, p, q)
          // Of a fresh row the adagrad rate is the rate itself.
          const plain = { ...options, ...shape }
          expectNear(user.row, plainStep(p, q, 4, plain, 'user'))
          expectNear(item.row, plainStep(q, p, 4, plain, 'item'))
        }
      }
    }
  })

  it('never changes the constant columns', () => {
    const { user, item } = learned(
      rule({ rule: 'sgd' }),
      [0.1, 0.2, 0.3, 3.5, 1],
      [1, 2, 3, 1, 0.2],
    )
    expect(user.row[4]).toBe(1)
    expect(item.row[3]).toBe(1)
    expect(user.row[3]).not.toBe(3.5)
    expect(item.row[4]).not.toBeCloseTo(0.2, 6)
  })

  it('takes smaller steps the more often a row was updated, with decayed and adagrad rates', () => {
    for (const schedule of ['decayed', 'adagrad'] as const) {
      const made = rule({ rule: 'sgd', schedule, decay: 1 }, PLAIN)
      const moves = [0, 50].map((updates) => {
        const user = newRow(Float32Array.from(P), made.userMemory)
        user.updates = updates
        user.memory.fill(updates)
        made.learn(
          user,
          newRow(Float32Array.from(Q), made.itemMemory),
          4,
          new Float32Array(made.deltaLength),
        )
        return Math.abs(user.row[1]! - P[1]!)
      })
      expect(moves[1]).toBeLessThan(moves[0]! / 4)
    }
  })

  it('moves a score by a fifth of its error at most where no rate is given', () => {
    for (const shape of [BIASED, PLAIN]) {
      for (const deltas of ['pair', 'step'] as const) {
        const made = rule(
          {
            rule: 'sgd',
            deltas,
            userRegularization: 0,
            itemRegularization: 0,
            newcomers: UNLIMITED,
            gradientClip: UNLIMITED,
          },
          shape,
        )
        const long = [30, -40, 20, 10, 1].slice(0, shape.dimension)
        const other = [20, 30, 40, 1, 10].slice(0, shape.dimension)
        const score = scoreOf(Float32Array.from(long), Float32Array.from(other))
        const { user, item } = learned(made, long, other, score + 10)
        const move = scoreOf(user.row, item.row) - score
        // Both steps together, with the product of the two.
        expect(move).toBeGreaterThan(1.9)
        expect(move).toBeLessThan(2.1)
      }
    }
  })

  it('shortens long gradients and rows', () => {
    const options = { rule: 'sgd', learningRate: 1, gradientClip: 0.5, normCap: 0.7 } as const
    const { user } = learned(rule(options, PLAIN), P, Q, 1e6)
    expect(Math.hypot(...user.row)).toBeLessThanOrEqual(0.7001)
  })

  it.each(['sgd', 'gram', 'fold-in', 'stack'] as const)(
    'refuses what is not finite: %s',
    (name) => {
      for (const rating of [Number.NaN, Number.POSITIVE_INFINITY]) {
        const { user, outcome } = learned(
          rule({ rule: name }),
          [0, 0, 0, 3, 1],
          [1, 1, 1, 1, 0],
          rating,
        )
        expect(outcome).toBe('refused')
        expect([...user.row]).toEqual([0, 0, 0, 3, 1])
      }
    },
  )
})

describe('the Gram rule', () => {
  it('is ridge regression against all ratings, with the prior of the batch rows', () => {
    const made = rule({ rule: 'gram', noise: 0.4, newUserNoise: 6, userForgetting: 1 }, PLAIN)
    const random = seededRandom(9)
    const user = newRow(new Float32Array(4), made.userMemory)
    const items = Array.from({ length: 6 }, () =>
      Float32Array.from({ length: 4 }, () => random.normal()),
    )
    const ratings = items.map(() => 1 + 4 * random.next())
    items.forEach((row, i) => {
      made.learn(
        user,
        newRow(row, made.itemMemory),
        ratings[i]!,
        new Float32Array(made.deltaLength),
      )
    })
    const all = moments(4, false).user
    const covariance = all.covariance([0, 1, 2, 3])
    // The sixth rating is of a user with five.
    const noise = 0.4 * (1 + 5 / (1 + 5 / 4))
    const precision = invertPacked(covariance, 4)!.map((value) => noise * value)
    const right = new Float64Array(4)
    multiplyPacked(precision, 4, all.mean(), right)
    items.forEach((row, n) => {
      for (let i = 0, at = 0; i < 4; i++) {
        right[i]! += ratings[n]! * row[i]!
        for (let j = 0; j <= i; j++) precision[at++]! += row[i]! * row[j]!
      }
    })
    const expected = new Float64Array(4)
    multiplyPacked(invertPacked(precision, 4)!, 4, right, expected)
    expectClose(user.row, expected)
  })

  it('does not change a trained row for a rating that it predicts exactly', () => {
    const made = rule({ rule: 'gram' })
    const p = [0.5, -0.2, 0.1, 3.4, 1]
    const q = [0.3, 0.6, -0.1, 1, 0.2]
    const score = scoreOf(Float32Array.from(p), Float32Array.from(q))
    const { user, item } = learned(made, p, q, score)
    expectClose(user.row, p)
    expectClose(item.row, q)
  })

  it('folds a delta of an earlier build, whose constant is not 1, as one of a known user', () => {
    const made = rule({ rule: 'gram' })
    const rows = [0.5, 1].map((constant) => {
      const item = newRow(Float32Array.of(0.3, 0.6, -0.1, 1, 0.2), made.itemMemory, 20)
      const delta = Float32Array.of(0.5, -0.2, 0.1, 3.4, constant, 2, 0)
      for (let n = 0; n < 50; n++) made.fold(item, delta)
      return item.row
    })
    expectNear(rows[1]!, [...rows[0]!])
    expect(rows[1]![3]).toBe(1)
  })

  it('refuses options out of range', () => {
    expect(() => gramSettings({ newcomers: 0 })).toThrow('newcomers')
    expect(() => gramSettings({ noise: 0 })).toThrow('noise')
    expect(() => gramSettings({ newUserNoise: 0.9 })).toThrow('newUserNoise')
    expect(() => gramSettings({ newUserNoise: Number.POSITIVE_INFINITY })).toThrow('newUserNoise')
    expect(() => gramSettings({ userForgetting: 1.1 })).toThrow('userForgetting')
  })
})

describe('newcomers', () => {
  /** Score of an item for an average user after `count` ratings of 1, each by a user with `earlier` ones. */
  function flooded(options: OnlineRuleOptions, count: number, earlier: number, shape = BIASED) {
    const made = rule(options, shape)
    const row = new Float32Array(shape.dimension).fill(1)
    const average = row.slice()
    if (shape.biased) average[3] = 4
    const item = newRow(row, made.itemMemory, 4000)
    const delta = new Float32Array(made.deltaLength)
    for (let n = 0; n < count; n++) {
      made.learn(newRow(average, made.userMemory, earlier), item, 1, delta)
      made.fold(item, delta)
    }
    return scoreOf(average, item.row)
  }

  const floods = (
    [
      { rule: 'gram' },
      { rule: 'sgd' },
      { rule: 'sgd', deltas: 'step' },
      { rule: 'fold-in' },
    ] as const
  ).flatMap((options) => [BIASED, PLAIN].map((shape) => ({ options, shape })))

  it.each(campaignSize([floods[commitSeed() % floods.length]!], floods))(
    'weigh little however many they are: %o',
    ({ options, shape }) => {
      const before = flooded(options, 0, 0, shape)
      expect(before - flooded(options, 10_000, 0, shape)).toBeLessThan((before - 1) / 4)
      const unlimited = { ...options, newcomers: UNLIMITED }
      expect(before - flooded(unlimited, 10_000, 0, shape)).toBeGreaterThan((before - 1) * 0.8)
      expect(before - flooded(options, 40_000, 1e6, shape)).toBeGreaterThan((before - 1) * 0.75)
    },
  )

  it('count fully where an item has no other rating', () => {
    for (const { options, shape } of floods) {
      const scores = [0, 1e6].map((earlier) => {
        const made = rule(options, shape)
        const item = newRow(
          Float32Array.from({ length: shape.dimension }, () => 0.5),
          made.itemMemory,
        )
        const user = newRow(item.row, made.userMemory, earlier)
        const delta = new Float32Array(made.deltaLength)
        made.learn(user, item, 1, delta)
        made.fold(item, delta)
        return [...item.row]
      })
      expect(scores[0]).toEqual(scores[1])
    }
  })

  it('are limited by a number above 0', () => {
    for (const { options } of floods) {
      expect(() => rule({ ...options, newcomers: 0 })).toThrow('newcomers')
    }
  })
})

describe('fold-in', () => {
  it("has Oryx's targets", () => {
    expect(foldInTarget('explicit', 2, 5, true)).toBe(5)
    expect(foldInTarget('implicit', 0.4, 1, true)).toBeCloseTo(0.4 + 0.5 * 0.6)
    expect(foldInTarget('implicit', 0, 1, false)).toBeCloseTo(0.75)
    expect(foldInTarget('implicit', 0.4, -1, true)).toBeCloseTo(0.4 - 0.5 * 0.4)
    expect(foldInTarget('implicit', 1.2, 1, true)).toBeNaN()
  })

  it('moves the score towards the rating, not beyond it', () => {
    const p = [0.5, -0.2, 0.1, 3.4, 1]
    const q = [0.3, 0.6, -0.1, 1, 0.2]
    const { user, item } = learned(rule({ rule: 'fold-in' }), p, q, 5)
    const before = scoreOf(Float32Array.from(p), Float32Array.from(q))
    const after = scoreOf(user.row, item.row)
    expect(after).toBeGreaterThan(before)
    expect(after).toBeLessThan(5)
  })
})

describe('fold-in of rows that are long', () => {
  it('never passes the rating, and settles at it', () => {
    const made = rule({ rule: 'fold-in' })
    const delta = new Float32Array(made.deltaLength)
    const user = newRow(Float32Array.of(40, -30, 20, 3.4, 1), made.userMemory, 20)
    const item = newRow(Float32Array.of(30, 60, -10, 1, 0.2), made.itemMemory, 20)
    for (const rating of [5, 1, 5, 1, 5]) {
      const before = rating - scoreOf(user.row, item.row)
      expect(made.learn(user, item, rating, delta)).toBe('learned')
      made.fold(item, delta)
      const after = rating - scoreOf(user.row, item.row)
      // The same side of the rating as before, up to rounding, and nearer to it.
      expect(after * Math.sign(before)).toBeGreaterThan(-1e-2)
      expect(Math.abs(after)).toBeLessThan(Math.abs(before))
    }
  })
})

describe('deltas of rules', () => {
  it.each(['sgd', 'gram', 'fold-in', 'stack'] as const)(
    'have the length that the job counts on: %s',
    (name) => {
      const { kind, length } = deltaShape({ rule: name }, BIASED.dimension)
      const made = rule({ rule: name })
      expect([kind, length]).toEqual([made.kind, made.deltaLength])
    },
  )
})
