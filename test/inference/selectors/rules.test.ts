import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { cascade, cascadeThreshold } from '../../../src/inference/selectors/cascade.ts'
import { ensemble } from '../../../src/inference/selectors/ensemble.ts'
import { exp3Ix } from '../../../src/inference/selectors/exp3.ts'
import { exp4 } from '../../../src/inference/selectors/exp4.ts'
import { exploring } from '../../../src/inference/selectors/exploring.ts'
import { SELECTOR_NAMES, selectorOf } from '../../../src/inference/selectors/named.ts'
import { ownSelector } from '../../../src/inference/selectors/own-selector.ts'
import { split } from '../../../src/inference/selectors/split.ts'
import { ARMS, choiceOf, codeOf, outputOf, selectBy } from './contract.ts'

const USERS = Array.from({ length: 4000 }, (_, i) => `user-${i}`)

describe('split', () => {
  const armsOf = (weights: Record<string, number>, arms = Object.keys(weights)): string[] => {
    const selector = split({ weights })
    const state = selector.init(arms.length)
    return USERS.map(
      (user) => arms[selectBy(selector, state, seededRandom(1), user, arms).run[0]!]!,
    )
  }

  it('gives a context the same arm each time', () => {
    expect(armsOf({ stable: 9, fresh: 1 })).toEqual(armsOf({ stable: 9, fresh: 1 }))
  })

  it('moves contexts only to the arm that comes', () => {
    const before = armsOf({ a: 1, b: 1 })
    const after = armsOf({ a: 1, b: 1, c: 1 })
    const moved = after.filter((arm, i) => arm !== before[i])
    expect(new Set(moved)).toEqual(new Set(['c']))
    expect(Math.abs(moved.length / USERS.length - 1 / 3)).toBeLessThan(0.03)
  })

  it('moves contexts only to the arm whose weight grows', () => {
    const before = armsOf({ stable: 9, fresh: 1 })
    const after = armsOf({ stable: 9, fresh: 3 })
    const moved = after.filter((arm, i) => arm !== before[i])
    expect(new Set(moved)).toEqual(new Set(['fresh']))
  })

  it('draws for the context that stands for all', () => {
    const selector = split()
    const random = seededRandom(3)
    const chosen = USERS.map(() => selectBy(selector, selector.init(3), random, '*').run[0])
    expect(new Set(chosen)).toEqual(new Set([0, 1, 2]))
  })

  it('runs mirrors, answers with none of them, and judges them by the label', () => {
    const selector = split({ mirrors: ['large'] })
    const state = selector.init(3)
    for (const user of USERS.slice(0, 100)) {
      const selection = selectBy(selector, state, seededRandom(1), user)
      expect(selection.mirrors).toEqual([2])
      expect(selection.run[0]).not.toBe(2)
      expect(selection.probabilities[2]).toBe(0)
    }
    const selection = selectBy(selector, state)
    const outputs = [outputOf(selection.run[0]!, [1, 0]), outputOf(2, [0, 1])]
    const choice = choiceOf(selection, 0, { outputs, label: 1 })
    expect([...selector.observe(state, choice).slice(6)]).toEqual([1, 1, 0])
  })

  it('keeps count, mean and squared differences of the rewards', () => {
    const selector = split({ weights: { stable: 1, fresh: 0, large: 0 } })
    const rewards = [1, 0, 0.5, 0.25]
    const selection = selectBy(selector, selector.init(3))
    const state = rewards.reduce(
      (row, reward) => selector.observe(row, choiceOf(selection, reward)),
      selector.init(3),
    )
    const mean = 1.75 / 4
    const squares = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0)
    expect(state[0]).toBe(4)
    expect(state[1]).toBeCloseTo(mean, 6)
    expect(state[2]).toBeCloseTo(squares, 6)
  })

  it('refuses an arm without a weight, and arms that may all not answer', () => {
    expect(codeOf(() => armsOf({ stable: 1 }, ['stable', 'fresh']))).toBe('INVALID_ARGUMENT')
    expect(codeOf(() => armsOf({ stable: 0 }))).toBe('INVALID_ARGUMENT')
  })
})

describe('cascade', () => {
  const selector = cascade({ threshold: [0.8, 0.6] })
  const state = selector.init(3)
  const selection = selectBy(selector, state)
  const sure = (...outputs: readonly ReturnType<typeof outputOf>[]) =>
    selector.enough?.(state, selection, outputs)

  it('asks the next arm where the last one is not sure enough', () => {
    expect(selection.run).toEqual([0, 1, 2])
    expect(sure(outputOf(0, [0.3, 0.7]))).toBe(false)
    expect(sure(outputOf(0, [0.1, 0.9]))).toBe(true)
    expect(sure(outputOf(0, [0.3, 0.7]), outputOf(1, [0.3, 0.7]))).toBe(true)
  })

  it('answers with the last arm that ran, and counts it', () => {
    const outputs = [outputOf(0, [0.4, 0.6]), outputOf(1, [0.75, 0.25])]
    const combined = selector.combine(state, selection, outputs)
    expect(combined.arm).toBe(1)
    expect(combined.confidence).toBeCloseTo(0.75)
    expect([...selector.observe(state, choiceOf(selection, 1, { outputs }))]).toEqual([
      0, 0, 1, 1, 0, 0,
    ])
  })

  it('refuses scores that are no probabilities, unless they are declared as logits', () => {
    const logits = [outputOf(0, [-1, 4])]
    expect(codeOf(() => sure(...logits))).toBe('INVALID_ARGUMENT')
    expect(cascade({ scores: 'logits' }).enough?.(state, selection, logits)).toBe(true)
  })

  it('finds the least threshold that keeps the wanted accuracy', () => {
    const samples = [
      { confidence: 0.9, isRight: true },
      { confidence: 0.8, isRight: true },
      { confidence: 0.7, isRight: false },
      { confidence: 0.7, isRight: true },
      { confidence: 0.6, isRight: false },
    ]
    expect(cascadeThreshold(samples, 1)).toBe(0.8)
    expect(cascadeThreshold(samples, 0.75)).toBe(0.7)
    expect(cascadeThreshold(samples, 0.5)).toBe(0.6)
    expect(cascadeThreshold(samples.slice(4), 0.5)).toBe(Infinity)
  })
})

describe('arms that answer together', () => {
  const arms = ['a', 'b', 'c', 'd']
  const said = (...classes: readonly number[]) =>
    classes.map((one, arm) => outputOf(arm, one === 0 ? [0.9, 0.1] : [0.2, 0.8]))

  it('ensemble: the majority answers, and confidence is the share of the selected that agree', () => {
    const selector = ensemble()
    const state = selector.init(4)
    const selection = selectBy(selector, state, seededRandom(1), 'u', arms)
    const all = selector.combine(state, selection, said(1, 1, 0, 1))
    expect(all.scores[1]).toBeCloseTo(0.8)
    expect(all.confidence).toBe(0.75)
    const late = selector.combine(state, selection, said(1, 1))
    expect(late.confidence).toBe(0.5)
  })

  it('ensemble: the mean of a late arm has no vote and agrees with no one', () => {
    const selector = ensemble()
    const state = selector.init(4)
    const selection = selectBy(selector, state, seededRandom(1), 'u', arms)
    const [a, b, c, d] = said(0, 1, 1, 1)
    const outputs = [a!, { ...b!, isMean: true }, { ...c!, isMean: true }, { ...d!, isMean: true }]
    const { scores, confidence } = selector.combine(state, selection, outputs)
    expect(scores[0]).toBeCloseTo(0.9)
    expect(confidence).toBe(0.25)
  })

  it('ensemble: the most accurate arm decides between two classes with as many votes', () => {
    const selector = ensemble()
    let state = selector.init(4)
    const selection = selectBy(selector, state, seededRandom(1), 'u', arms)
    const seen = { arms, selection, reward: 1, label: 1 }
    state = selector.observe(state, { ...seen, outputs: said(0, 0, 1, 0) })
    expect(selector.combine(state, selection, said(0, 0, 1, 1)).scores[1]).toBeCloseTo(0.8)
    expect(selector.combine(state, selection, said(1, 1, 0, 0)).scores[0]).toBeCloseTo(0.9)
  })

  it('exp4 by votes: the class with the most weight answers', () => {
    const selector = exp4({ by: 'votes' })
    const state = Float32Array.from([0.6, 0.2, 0.1, 0.1], Math.log)
    const selection = selectBy(selector, state, seededRandom(1), 'u', arms)
    const { scores, confidence } = selector.combine(state, selection, said(1, 0, 0, 0))
    expect(scores[1]).toBeCloseTo(0.8)
    expect(confidence).toBe(0.25)
  })

  it('exp4: an arm that was broken comes back with the fixed share, and does not as printed', () => {
    const shareAfter = (share: number): number => {
      const selector = exp4({ share })
      let state = selector.init(4)
      for (let round = 0; round < 2000; round++) {
        const selection = selectBy(selector, state, seededRandom(1), 'u', arms)
        // The first arm alone is wrong in the first half, and alone right in the second.
        const outputs = round < 1000 ? said(0, 1, 1, 1) : said(1, 0, 0, 0)
        state = selector.observe(state, { arms, selection, outputs, reward: 1, label: 1 })
      }
      return selectBy(selector, state, seededRandom(1), 'u', arms).probabilities[0]!
    }
    expect(shareAfter(0.001)).toBeGreaterThan(0.9)
    expect(shareAfter(0)).toBeLessThan(0.3)
  })
})

describe('the pool of uniform draws', () => {
  it('has its share of the choices, marked, over all arms but mirrors', () => {
    const selector = exploring(split({ weights: { stable: 1, fresh: 0 }, mirrors: ['large'] }), 0.1)
    const random = seededRandom(5)
    const state = selector.init(3)
    const explored = USERS.map((user) => selectBy(selector, state, random, user)).filter(
      (selection) => selection.explored,
    )
    expect(Math.abs(explored.length / USERS.length - 0.1)).toBeLessThan(0.02)
    const fresh = explored.filter(({ run }) => run[0] === 1).length
    expect(Math.abs(fresh / explored.length - 0.5)).toBeLessThan(0.1)
    expect(explored.some(({ run }) => run[0] === 2)).toBe(false)
    expect([...explored[0]!.probabilities].map((p) => p.toFixed(2))).toEqual([
      '0.95',
      '0.05',
      '0.00',
    ])
  })

  it('refuses a share that is not from 0 and below 1', () => {
    for (const share of [1, -0.1, Number.NaN]) {
      expect(codeOf(() => exploring(exp3Ix(), share))).toBe('INVALID_ARGUMENT')
    }
  })
})

describe('selectors by name', () => {
  it('makes each of them, and the default stands first', () => {
    expect(SELECTOR_NAMES[0]).toBe('exp3-ix')
    const made = SELECTOR_NAMES.map(
      (name) => selectorOf(name, name === 'linucb' ? { features: 3 } : {}).name,
    )
    expect(made).toEqual(SELECTOR_NAMES)
  })

  it('refuses a name and a parameter that there is not', () => {
    expect(() => selectorOf('exp3ix')).toThrow('did you mean "exp3-ix"?')
    expect(() => selectorOf('toString')).toThrow('there is no selector')
    expect(codeOf(() => selectorOf('exp4', { etta: 1 }))).toBe('INVALID_ARGUMENT')
    expect(codeOf(() => selectorOf('thompson', { discount: 2 }))).toBe('INVALID_ARGUMENT')
    expect(codeOf(() => selectorOf('linucb'))).toBe('INVALID_ARGUMENT')
  })
})

describe("a user's own selector", () => {
  const base = exp3Ix()

  it('is refused where a function is missing, or is none', () => {
    const { observe, ...rest } = base
    expect(() => ownSelector(rest, 'bandit.ts#mine')).toThrow(
      'bandit.ts#mine is no selector, since it lacks the function observe',
    )
    expect(codeOf(() => ownSelector(undefined, 'x'))).toBe('INVALID_ARGUMENT')
    expect(codeOf(() => ownSelector({ ...rest, observe, name: '' }, 'x'))).toBe('INVALID_ARGUMENT')
    expect(codeOf(() => ownSelector({ ...base, enough: 1 }, 'x'))).toBe('INVALID_ARGUMENT')
  })

  it('may be an object of a class', () => {
    class Mine {
      readonly name = 'mine'
      init = base.init
      combine = base.combine
      observe = base.observe
      select(...given: Parameters<typeof base.select>) {
        return base.select(...given)
      }
    }
    expect(selectBy(ownSelector(new Mine(), 'x'), base.init(3)).run.length).toBe(1)
  })

  it.each([
    ['no arm', { run: [] }],
    ['an unknown arm', { run: [3] }],
    ['an unknown mirror', { mirrors: [-1] }],
    ['probabilities of other arms', { probabilities: Float32Array.of(1) }],
    ['probabilities that do not sum to 1', { probabilities: Float32Array.of(1, 1, 0) }],
    ['a probability that is not finite', { probabilities: Float32Array.of(Number.NaN, 1, 0) }],
  ])('is refused when it selects %s', (_, wrong) => {
    const own = { ...base, select: () => ({ ...selectBy(base, base.init(3)), ...wrong }) }
    const selector = ownSelector(own, 'x')
    expect(codeOf(() => selectBy(selector, base.init(3)))).toBe('INVALID_ARGUMENT')
  })

  it('is refused when it makes a row not finite or of another length', () => {
    const state = base.init(3)
    const choice = choiceOf(selectBy(base, state), 1, { arms: ARMS })
    const after = (row: Float32Array) =>
      codeOf(() => ownSelector({ ...base, observe: () => row }, 'x').observe(state, choice))
    expect(after(Float32Array.of(0, 0, Infinity))).toBe('NOT_FINITE')
    expect(after(new Float32Array(2))).toBe('DIMENSION_MISMATCH')
  })

  it('cannot change the row that is read by others', () => {
    const state = base.init(3)
    const choice = choiceOf(selectBy(base, state), 1)
    const own = ownSelector({ ...base, observe: (row) => row.fill(7) } satisfies typeof base, 'x')
    expect([...own.observe(state, choice)]).toEqual([7, 7, 7])
    expect([...state]).toEqual([0, 0, 0])
  })
})
