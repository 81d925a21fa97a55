import { describe, expect, it } from 'vitest'
import { floats, PipelineHarness, valuesOf } from './harness.ts'

const CHOICE = `
steps:
  ranker: { select: exp3-ix, eta: 0.5, arms: { stable: old, fresh: new } }
`
const CASCADE = `
steps:
  answer: { branch: cheap, below: 0.6, then: large }
`
const VOTES = `
steps:
  answer: { combine: votes, arms: { a: a, b: b, c: c } }
`

/** A model that never answers in time. */
const silent = () => new Promise<readonly number[]>(() => {})

describe('a pipeline', () => {
  it('answers with the arm that its selector chose, and says which one, how probable it was, and all versions', async () => {
    await using pipe = await PipelineHarness.open({
      old: { version: 4, answers: [0.9, 0.1] },
      new: { version: 7, answers: [0.2, 0.8] },
    })
    await pipe.load(CHOICE)
    const { outputs, flags } = await pipe.ask()
    const { decision } = flags
    expect(decision).toMatchObject({ probability: 0.5, versions: { old: 4, new: 7 } })
    expect(decision!.id).toMatch(/^[0-9a-f]{32}$/)
    const isOld = decision!.arm === 'stable'
    expect(valuesOf(outputs[0]!)[0]).toBeCloseTo(isOld ? 0.9 : 0.2, 6)
    expect(decision!.confidence).toBeCloseTo(isOld ? 0.9 : 0.8, 6)
    expect(pipe.models.asked).toEqual([isOld ? 'old' : 'new'])
  })

  it('learns by context: rewards of one context move its choices, and those of contexts that are new', async () => {
    await using pipe = await PipelineHarness.open({
      old: { answers: [0.9, 0.1] },
      new: { answers: [0.9, 0.1] },
    })
    await pipe.load(CHOICE)
    for (let n = 0; n < 60; n++) {
      const answer = await pipe.ask({ context: 'u1' })
      const isFresh = answer.flags.decision!.arm === 'fresh'
      expect(pipe.reward(answer, isFresh ? 1 : 0)).toBe('counted')
    }
    const shares = { u1: 0, other: 0 }
    for (const context of ['u1', 'other'] as const) {
      const { decision } = (await pipe.ask({ context })).flags
      shares[context] =
        decision!.arm === 'fresh' ? decision!.probability! : 1 - decision!.probability!
    }
    expect(shares.u1).toBeGreaterThan(0.9)
    expect(shares.other).toBeGreaterThan(0.9)
  })

  it('counts one reward of each decision, and refuses those that are wrong', async () => {
    await using pipe = await PipelineHarness.open({
      old: { answers: [0.9, 0.1] },
      new: { answers: [0.9, 0.1] },
    })
    await pipe.load(`${CHOICE}reward: [1, 5]\nttl-ms: 1000\n`)
    const answer = await pipe.ask()
    expect(() => pipe.reward(answer, 0)).toThrow('the pipeline takes rewards from 1 to 5, not 0')
    expect(() => pipe.reward(answer, Number.NaN)).toThrow('not NaN')
    expect(pipe.reward(answer, 5)).toBe('counted')
    expect(pipe.reward(answer, 5)).toBe('duplicate')
    const late = await pipe.ask()
    pipe.clock.advance(1001)
    expect(pipe.reward(late, 5)).toBe('late')
    const id = { name: 'pipe', version: 1 }
    const of = (decision: string) => pipe.engine.observe(id, { decision, reward: 5 })
    const known = (await pipe.ask()).flags.decision!.id
    expect(of(`${known.slice(0, 16)}${'0'.repeat(16)}`)).toBe('unmatched')
    expect(() => of(`${known.slice(0, 12)}0000${known.slice(16)}`)).toThrow(
      'is of another pipeline',
    )
    expect(() => of('17')).toThrow('is no id of a decision')
    expect(pipe.engine.numbersOf(id)).toMatchObject({
      answered: 3,
      'rewards.counted': 1,
      'rewards.duplicate': 1,
      'rewards.late': 1,
      'rewards.unmatched': 1,
    })
  })

  it('keeps what it has learned when a version brings another arm', async () => {
    await using pipe = await PipelineHarness.open({
      old: { answers: [0.9, 0.1] },
      new: { answers: [0.9, 0.1] },
    })
    await pipe.load(CHOICE)
    for (let n = 0; n < 60; n++) {
      const answer = await pipe.ask()
      pipe.reward(answer, answer.flags.decision!.arm === 'fresh' ? 1 : 0)
    }
    await pipe.load(CHOICE.replace('fresh: new', 'fresh: new, third: old'))
    const of = new Map<string, number>()
    for (let n = 0; n < 50; n++) {
      const { arm, probability } = (await pipe.ask()).flags.decision!
      of.set(arm!, probability!)
    }
    expect(of.get('fresh')).toBeGreaterThan(0.5)
    expect(of.get('third')).toBeGreaterThan(0.2)
  })
})

describe('a cascade', () => {
  it('asks the second model only where the first is not sure', async () => {
    let score = 0.95
    await using pipe = await PipelineHarness.open({
      cheap: { answers: async () => [score, 1 - score] },
      large: { answers: [0.3, 0.7] },
    })
    await pipe.load(CASCADE)
    expect(valuesOf((await pipe.ask()).outputs[0]!)[0]).toBeCloseTo(0.95, 6)
    expect(pipe.models.asked).toEqual(['cheap'])
    score = 0.55
    expect(valuesOf((await pipe.ask()).outputs[0]!)[0]).toBeCloseTo(0.3, 6)
    expect(pipe.models.asked).toEqual(['cheap', 'cheap', 'large'])
  })

  it('refuses scores that are no probabilities, because no confidence can be read from them', async () => {
    await using pipe = await PipelineHarness.open({
      cheap: { answers: [4.2, -1] },
      large: { answers: [0.3, 0.7] },
    })
    await pipe.load(CASCADE)
    await expect(pipe.ask()).rejects.toThrow('the scores of step "cheap" are no probabilities')
  })
})

describe('an ensemble', () => {
  it('answers at the deadline with the votes that are there, and its confidence counts those that are not', async () => {
    await using pipe = await PipelineHarness.open({
      a: { answers: [0.1, 0.9] },
      b: { answers: [0.4, 0.6] },
      c: { answers: silent },
    })
    await pipe.load(VOTES)
    const asked = pipe.ask({ deadlineMs: 50 })
    let isOver = false
    const watched = asked.then(() => {
      isOver = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    pipe.clock.advance(48)
    await watched
    const { outputs, flags } = await asked
    expect(valuesOf(outputs[0]!)).toEqual([0, 1])
    expect(flags.decision!.confidence).toBeCloseTo(2 / 3, 6)
    expect(flags.decision!.arm).toBeUndefined()
  })

  it('puts the mean of its earlier answers in the place of a model that is late', async () => {
    let isLate = false
    await using pipe = await PipelineHarness.open({
      a: { answers: [0.2, 0.8] },
      b: { answers: () => (isLate ? silent() : Promise.resolve([0.4, 0.6])) },
    })
    await pipe.load('steps:\n  answer: { combine: mean, arms: { a: a, b: b } }\n')
    expect(valuesOf((await pipe.ask()).outputs[0]!)[0]).toBeCloseTo(0.3, 6)
    isLate = true
    const asked = pipe.ask({ deadlineMs: 50 })
    await new Promise((resolve) => setImmediate(resolve))
    pipe.clock.advance(48)
    const { outputs, flags } = await asked
    expect(valuesOf(outputs[0]!)[0]).toBeCloseTo(0.3, 6)
    // What stands for the late model says the same class, and agrees with nothing.
    expect(flags.decision!.confidence).toBeCloseTo(1 / 2, 6)
  })

  it('answers with the default below min-confidence, says so, and lets no reward for it teach an arm', async () => {
    await using pipe = await PipelineHarness.open({
      a: { answers: [0.1, 0.9] },
      b: { answers: [0.9, 0.1] },
    })
    const text = 'steps:\n  answer: { select: exp4, arms: { a: a, b: b } }\nmin-confidence: 0.9\n'
    await pipe.load(text, { default: [floats('p', [1, 2], [0.5, 0.5])] })
    const answer = await pipe.ask({ context: 'u1' })
    expect(valuesOf(answer.outputs[0]!)).toEqual([0.5, 0.5])
    expect(answer.flags).toMatchObject({ isDefault: 'unsure', decision: { confidence: 0.5 } })
    expect(pipe.reward(answer, 1)).toBe('counted')
    expect(pipe.engine.numbersOf({ name: 'pipe', version: 1 })).toMatchObject({
      contexts: 0,
      defaults: 1,
    })
  })
})

describe('a shadow', () => {
  it('runs and never answers', async () => {
    await using pipe = await PipelineHarness.open({
      live: { answers: [0.9, 0.1] },
      next: { answers: [0.1, 0.9] },
    })
    await pipe.load(
      'steps:\n  answer: { select: split, arms: { live: live, next: next }, mirrors: [next] }\n',
    )
    for (let n = 0; n < 20; n++) {
      const { outputs, flags } = await pipe.ask({ context: `u${n}` })
      expect(flags.decision).toMatchObject({ arm: 'live', probability: 1 })
      expect(valuesOf(outputs[0]!)[0]).toBeCloseTo(0.9, 6)
    }
    expect(pipe.models.asked.filter((name) => name === 'next')).toHaveLength(20)
  })
})
