import { describe, expect, it } from 'vitest'
import { zipfChoice } from '../../../benchmarks/load/zipf-choice.ts'
import { seededRandom } from '../../../src/core/random.ts'
import {
  askedAt,
  dueInMs,
  expectedNextMs,
  NEVER_ASKED,
} from '../../../src/inference/policy/asking.ts'
import { decideResidency } from '../../../src/inference/policy/residency.ts'
import type { AskingHistory } from '../../../src/inference/port/asking-history.ts'

const LOAD_MS = 430
const RUN_MS = 28
const MODELS = 5
const ROOM = 4

const asked = (times: readonly number[]): AskingHistory => times.reduce(askedAt, NEVER_ASKED)
const every = (gapMs: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => 1 + i * gapMs)

describe('the time until a model is asked next', () => {
  it('is what is left of a regular gap', () => {
    const history = asked(every(100, 20))
    const last = history.lastAskedAt
    expect(expectedNextMs(history, last, 0)).toBe(100)
    expect(expectedNextMs(history, last + 60, 0)).toBe(40)
    expect(expectedNextMs(history, last + 100, 0)).toBe(0)
  })

  it('grows when a regular model is overdue: it may not come back', () => {
    const history = asked(every(100, 20))
    expect(expectedNextMs(history, history.lastAskedAt + 1000, 0)).toBe(900)
  })

  it('has no memory where the gaps are at random', () => {
    const random = seededRandom(5)
    let now = 1
    const times = Array.from({ length: 500 }, () => {
      now -= 100 * Math.log(1 - random.next())
      return now
    })
    const history = asked(times)
    const [early, late] = [1, 80].map((ms) => expectedNextMs(history, now + ms, 0))
    // The estimate is of the latest few gaps, so it is rough.
    expect(early).toBeGreaterThan(50)
    expect(late! / early!).toBeGreaterThan(0.6)
  })

  it('is the time since the request or the load where nothing else is known', () => {
    expect(expectedNextMs(NEVER_ASKED, 500, 300)).toBe(200)
    expect(expectedNextMs(asked([450]), 500, 300)).toBe(50)
  })
})

describe('the time when a model is due', () => {
  const regular = asked(every(100, 20))
  const last = regular.lastAskedAt

  it('is the end of a regular gap', () => {
    expect(dueInMs(regular, last + 60)).toBe(40)
    expect(dueInMs(regular, last + 105)).toBe(0)
  })

  it('is not known when the request did not come', () => {
    expect(dueInMs(regular, last + 120)).toBe(Number.POSITIVE_INFINITY)
  })

  it('is not known after few gaps, or for gaps at random', () => {
    expect(dueInMs(asked(every(100, 3)), 300)).toBe(Number.POSITIVE_INFINITY)
    const random = seededRandom(5)
    let now = 1
    const times = Array.from({ length: 500 }, () => {
      now -= 100 * Math.log(1 - random.next())
      return now
    })
    expect(dueInMs(asked(times), now)).toBe(Number.POSITIVE_INFINITY)
  })
})

/** Misses and rate of one caller, in virtual time; `byUse` evicts the least recently used model. */
function oneCaller(choose: (request: number) => number, byUse: boolean) {
  const histories = Array.from({ length: MODELS }, () => NEVER_ASKED)
  const inside = new Set(Array.from({ length: ROOM }, (_, i) => i))
  const requests = 4000
  let now = 1
  let loads = 0
  for (let i = 0; i < requests; i++) {
    const wanted = choose(i)
    const arrival = now
    if (!inside.has(wanted)) {
      const facts = histories.map((history, model) => ({
        key: String(model),
        bytes: 1,
        state: inside.has(model) ? ('in' as const) : ('out' as const),
        lastRunAt: history.lastAskedAt,
        nextMs: byUse ? now - history.lastAskedAt : expectedNextMs(history, now, 0),
        dueMs: Number.POSITIVE_INFINITY,
        isKept: false,
        enteredAt: 0,
        isWanted: model === wanted,
        requests: model === wanted ? 1 : 0,
        firstDeadline: Number.POSITIVE_INFINITY,
        readyMs: LOAD_MS,
      }))
      const { leave } = decideResidency(ROOM, facts, now)
      for (const key of leave) inside.delete(Number(key))
      inside.add(wanted)
      now += LOAD_MS
      loads++
    }
    histories[wanted] = askedAt(histories[wanted]!, arrival)
    now += RUN_MS
  }
  return { missed: loads / requests, rate: (requests * RUN_MS) / now }
}

describe('one caller of five models with room for four', () => {
  it('misses one of four requests in turn, which no order of evictions betters; the least recent use misses all', () => {
    const inTurn = (request: number): number => request % MODELS
    expect(oneCaller(inTurn, true).missed).toBeGreaterThan(0.99)
    const { missed, rate } = oneCaller(inTurn, false)
    expect(missed).toBeLessThan(0.26)
    expect(rate).toBeGreaterThan(0.2)
  })

  it('misses fewer requests under Zipf than with the least recent use', () => {
    const byUse = oneCaller(zipfChoice(MODELS), true)
    const expected = oneCaller(zipfChoice(MODELS), false)
    expect(expected.missed).toBeLessThan(0.85 * byUse.missed)
    expect(expected.rate).toBeGreaterThan(1.08 * byUse.rate)
  })
})
