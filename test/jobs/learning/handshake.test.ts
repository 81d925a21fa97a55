import { describe, expect, it } from 'vitest'
import {
  agreedConstants,
  decideHandshake,
  type HandshakeDecision,
  type HandshakeFacts,
  type HandshakeMessage,
  knownVersions,
  noFacts,
  observe,
} from '../../../src/jobs/learning/handshake.ts'

type Message = HandshakeMessage<number>
type Facts = HandshakeFacts<number>

const observed = (facts: Facts, ...messages: readonly Message[]): Facts =>
  messages.reduce<Facts>((before, message) => observe(before, message), facts)

const started = (attempt: number, operator: 'gate' | 'learner'): Message => {
  return { kind: 'started', attempt, operator, subtasks: 2 }
}
const live = (version: number): Message => ({ kind: 'live', version })
const gateOpened = (subtask: number): Message => ({ kind: 'gate-opened', uid: 'ratings', subtask })
const opened = (slot: number, known: readonly number[] = []): Message => {
  return { kind: 'opened', slot, known }
}
const measured = (slot: number, version = 7, kept = false): Message => {
  return { kind: 'measured', slot, version, kept, constants: 10 * version + slot }
}
const begun = (slot: number, version = 7): Message => ({ kind: 'begun', slot, version })
const sent = (step: 'measure' | 'let-through'): Message => ({ kind: 'sent', step })
const sentBegin = (...versions: number[]): Message => ({ kind: 'sent', step: 'begin', versions })

/** Two slots on the way to version 7, one state after the other. */
const idle = noFacts<number>()
const starting = observed(idle, started(1, 'gate'), started(1, 'learner'))
const opening = observed(starting, live(7), gateOpened(0), opened(0), opened(1))
const ready = observed(opening, gateOpened(1))
const measuring = observed(ready, sent('measure'))
const halfMeasured = observed(measuring, measured(1))
const allMeasured = observed(halfMeasured, measured(0))
const beginning = observed(allMeasured, sentBegin(7))
const halfBegun = observed(beginning, begun(1))
const allBegun = observed(halfBegun, begun(0))
const learning = observed(allBegun, sent('let-through'))

const STATES = {
  idle,
  starting,
  opening,
  ready,
  measuring,
  halfMeasured,
  allMeasured,
  beginning,
  halfBegun,
  allBegun,
  learning,
}
type State = keyof typeof STATES
/** `same`: the message changes no fact. */
type Outcome = HandshakeDecision | 'same'
type Outcomes = Record<State, Outcome>

describe('the hand-shake', () => {
  it('goes from one step to the next when every subtask has answered', () => {
    const decisions = Object.values(STATES).map((facts) => decideHandshake(facts, true))
    expect(decisions).toEqual([
      'no-version',
      'no-version',
      'wait-for-subtasks',
      'measure',
      'wait-for-measured',
      'wait-for-measured',
      'begin',
      'wait-for-begun',
      'wait-for-begun',
      'let-through',
      'learning',
    ])
  })

  it('waits for the rows of the version before the first order, and not after it', () => {
    expect(decideHandshake(ready, false)).toBe('wait-for-rows')
    expect(decideHandshake(opening, false)).toBe('wait-for-subtasks')
    expect(decideHandshake(measuring, false)).toBe('wait-for-measured')
    expect(decideHandshake(learning, false)).toBe('learning')
  })

  const SAME = 'same'
  const inEvery = (outcome: Outcome, except: Partial<Outcomes> = {}): Outcomes => {
    const states = Object.keys(STATES) as State[]
    return { ...(Object.fromEntries(states.map((s) => [s, outcome])) as Outcomes), ...except }
  }

  /** What a message leads to in each state. */
  const TABLE: readonly (readonly [string, Message, Outcomes])[] = [
    [
      'a restart',
      started(2, 'gate'),
      inEvery('wait-for-subtasks', { idle: 'no-version', starting: 'no-version' }),
    ],
    [
      'another live version',
      live(8),
      inEvery('measure', {
        idle: 'wait-for-subtasks',
        starting: 'wait-for-subtasks',
        opening: 'wait-for-subtasks',
      }),
    ],
    [
      'the same live version again',
      live(7),
      inEvery('measure', {
        idle: 'wait-for-subtasks',
        starting: 'wait-for-subtasks',
        opening: 'wait-for-subtasks',
      }),
    ],
    [
      'the last gate, or one that opens again',
      gateOpened(1),
      inEvery('measure', { idle: 'no-version', starting: 'no-version' }),
    ],
    [
      'a learner that opens, or does so again',
      opened(0),
      inEvery('measure', {
        idle: 'no-version',
        starting: 'no-version',
        opening: 'wait-for-subtasks',
      }),
    ],
    [
      'the constants of a slot',
      measured(0),
      inEvery(SAME, {
        measuring: 'wait-for-measured',
        halfMeasured: 'begin',
        allMeasured: 'begin',
      }),
    ],
    [
      'constants that a slot sends twice',
      measured(1),
      inEvery(SAME, {
        measuring: 'wait-for-measured',
        halfMeasured: 'wait-for-measured',
        allMeasured: 'begin',
      }),
    ],
    ['constants of another version', measured(0, 6), inEvery(SAME)],
    [
      'a slot that has begun',
      begun(0),
      inEvery(SAME, {
        beginning: 'wait-for-begun',
        halfBegun: 'let-through',
        allBegun: 'let-through',
      }),
    ],
    [
      'a slot that has begun twice',
      begun(1),
      inEvery(SAME, {
        beginning: 'wait-for-begun',
        halfBegun: 'wait-for-begun',
        allBegun: 'let-through',
      }),
    ],
    ['a slot that has begun another version', begun(0, 6), inEvery(SAME)],
  ]

  describe.each(TABLE)('after %s', (_, message, expected) => {
    it.each(Object.entries(expected))('in the state %s: %s', (state, decision) => {
      const before = STATES[state as State]
      const facts = observe(before, message)
      if (decision === SAME) expect(facts).toBe(before)
      else expect(decideHandshake(facts, true)).toBe(decision)
    })
  })

  it('begins from the first step after a restart in the middle, with the live version', () => {
    for (const before of [measuring, beginning, learning]) {
      const restarted = observed(before, started(2, 'gate'), started(2, 'learner'))
      expect(restarted).toMatchObject({ attempt: 2, live: 7, gates: 2, learners: 2, step: 'none' })
      const opened2 = observed(restarted, gateOpened(0), gateOpened(1), opened(0), opened(1))
      expect(decideHandshake(opened2, true)).toBe('measure')
      expect(knownVersions(opened2)).toEqual([])
    }
  })

  it('ignores answers to orders before the restart', () => {
    const restarted = observed(beginning, started(2, 'gate'), started(2, 'learner'))
    expect(observed(restarted, begun(0), begun(1), measured(0), measured(1))).toEqual(restarted)
  })

  it('needs no answers where there are no learners', () => {
    const gates = observed(idle, started(1, 'gate'), live(7), gateOpened(0))
    expect(decideHandshake(gates, true)).toBe('wait-for-subtasks')
    const all = observed(gates, gateOpened(1))
    expect(decideHandshake(all, true)).toBe('measure')
    expect(decideHandshake(observed(all, sent('measure')), true)).toBe('begin')
    expect(decideHandshake(observed(all, sent('measure'), sentBegin(7)), true)).toBe('let-through')
  })
})

describe('the versions that all learners know', () => {
  it('are those of every checkpoint, and those that all were ordered to begin', () => {
    const facts = observed(starting, opened(0, [3, 5, 6]), opened(1, [5, 6, 9]))
    expect(knownVersions(facts)).toEqual([5, 6])
    expect(knownVersions(observed(facts, sentBegin(4, 6, 7)))).toEqual([5, 6, 4, 7])
  })
})

describe('the constants of a version', () => {
  const merge = (parts: readonly number[]): number => parts.reduce((sum, part) => sum + part, 0)

  it('are what all slots have measured, merged', () => {
    expect(agreedConstants(allMeasured, merge)).toBe(70 + 71)
  })

  it('are those that a slot has kept, where one has', () => {
    const facts = observed(measuring, measured(0), measured(1, 7, true))
    expect(agreedConstants(facts, merge)).toBe(71)
  })
})
