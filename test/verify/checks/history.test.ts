import { describe, expect, it } from 'vitest'
import { checkHistory } from '../../../verify/checks/history.ts'
import type { Disturbance, Observation, Violation } from '../../../verify/checks/observation.ts'

/** Key `a`: five records at offsets 0, 2, 4 ... of partition 1; stored at 100, 200 ... */
const KEY_A = {
  partition: 1,
  offsets: [0, 2, 4, 6, 8],
  storedMs: [100, 200, 300, 400, 500],
  checks: [undefined, 11, 12, 13, 14, 15],
}
/** Key `b`: between those of `a`. */
const KEY_B = {
  partition: 1,
  offsets: [1, 3, 5, 7],
  storedMs: [150, 250, 350, 450],
  checks: [undefined, 21, 22, 23, 24],
}

const KEYS = new Map([
  ['a', KEY_A],
  ['b', KEY_B],
])

/** An answer that is right, at time 1000, unless `changes` say otherwise. */
function answer(version: number, changes: Partial<Observation> = {}): Observation {
  const key = changes.key ?? 'a'
  const { partition, offsets, checks } = KEYS.get(key)!
  return {
    state: 'S',
    key,
    session: 0,
    level: 'live',
    version,
    check: checks[version] ?? 0,
    partition: version > 0 ? partition : -1,
    offset: version > 0 ? offsets[version - 1]! : 0,
    checkpointId: 7,
    ageMs: -1,
    startedMs: 1000,
    answeredMs: 1010,
    ...changes,
  }
}

function violations(
  observations: readonly Observation[],
  disturbances: readonly Disturbance[] = [],
): Violation['kind'][] {
  const ledger = { keys: KEYS, positions: true, disturbances }
  return checkHistory(observations, new Map([['S', ledger]])).map(({ kind }) => kind)
}

const at = (startedMs: number): Partial<Observation> => ({
  startedMs,
  answeredMs: startedMs + 10,
})

describe('checkHistory', () => {
  it('finds nothing in a correct history', () => {
    const history = [
      answer(-1, at(50)),
      answer(2, at(210)),
      answer(3, { ...at(320), level: 'at-least', bound: { partition: 1, offset: 4 } }),
      answer(3, { ...at(420), level: 'checkpoint' }),
      answer(5, { ...at(900), level: 'bounded', maxAgeMs: 100, ageMs: 40 }),
    ]
    expect(violations(history)).toEqual([])
  })

  it('finds values that are no fold of the first records', () => {
    expect(violations([answer(3, { check: 12 })])).toEqual(['wrong-value'])
    expect(violations([answer(6, { check: 0 })])).toEqual(['wrong-value'])
    expect(violations([answer(-1)])).toEqual([])
    expect(violations([answer(0)])).toEqual(['wrong-value'])
  })

  it('finds keys that were never written', () => {
    expect(violations([answer(1, { key: 'a', state: 'S' })])).toEqual([])
    expect(violations([{ ...answer(1), key: 'c' }])).toEqual(['wrong-value'])
  })

  it('finds positions other than that of the last write', () => {
    expect(violations([answer(3, { offset: 5 })])).toEqual(['wrong-position'])
    expect(violations([answer(3, { partition: 0 })])).toEqual(['wrong-position'])
  })

  it('finds a write that a later query does not read', () => {
    const bound = { partition: 1, offset: 6 }
    expect(violations([answer(3, { level: 'at-least', bound })])).toEqual(['lost-write'])
    expect(violations([answer(4, { level: 'at-least', bound })])).toEqual([])
    // The bound of another key's record: all of this key before it.
    const others = { partition: 1, offset: 7 }
    expect(violations([answer(3, { level: 'at-least', bound: others })])).toEqual(['lost-write'])
  })

  it('finds a session that goes back, but allows it after a restart', () => {
    const history = [answer(4, at(1000)), answer(3, at(1100))]
    expect(violations(history)).toEqual(['went-back'])
    expect(violations(history, [{ fromMs: 1050, toMs: 1080 }])).toEqual([])
    expect(violations(history, [{ fromMs: 1050, toMs: Number.POSITIVE_INFINITY }])).toEqual([])
    expect(violations(history, [{ fromMs: 900, toMs: 990 }])).toEqual(['went-back'])
    expect(violations(history, [{ fromMs: 1200, toMs: 1300 }])).toEqual(['went-back'])
  })

  it('allows one session an older value than another', () => {
    expect(violations([answer(4, at(1000)), answer(3, { ...at(1100), session: 1 })])).toEqual([])
  })

  it('finds a checkpoint level that goes back, in any session and after any crash', () => {
    const checkpoint = { level: 'checkpoint' } as const
    const history = [
      answer(4, { ...at(1000), ...checkpoint }),
      answer(3, { ...at(1100), ...checkpoint, session: 1, checkpointId: 8 }),
    ]
    const crash = [{ fromMs: 1020, toMs: 1090 }]
    expect(violations(history, crash)).toEqual(['checkpoint-went-back'])
    const gone = answer(-1, { ...at(1100), ...checkpoint, checkpointId: 0 })
    expect(violations([history[0]!, gone])).toEqual(['checkpoint-went-back'])
  })

  it('does not compare concurrent answers', () => {
    const checkpoint = { level: 'checkpoint' } as const
    const history = [
      answer(4, { startedMs: 1000, answeredMs: 1200, ...checkpoint }),
      answer(3, { startedMs: 1100, answeredMs: 1110, ...checkpoint, checkpointId: 6 }),
    ]
    expect(violations(history)).toEqual([])
  })

  it('finds live values older than those of a checkpoint', () => {
    const history = [
      answer(4, { ...at(1000), level: 'checkpoint' }),
      answer(3, { ...at(1100), session: 1 }),
    ]
    const crash = [{ fromMs: 1020, toMs: 1090 }]
    expect(violations(history, crash)).toEqual(['below-checkpoint'])
  })

  it('finds a checkpoint that is not one cut', () => {
    const cut = { level: 'checkpoint', checkpointId: 9 } as const
    // Offset 6 of key a is in, offset 3 of key b is not.
    const torn = [answer(4, { ...cut }), answer(1, { ...cut, key: 'b' })]
    expect(violations(torn)).toEqual(['no-single-cut'])
    const whole = [answer(4, { ...cut }), answer(3, { ...cut, key: 'b' })]
    expect(violations(whole)).toEqual([])
    const twoCuts = [answer(3, { ...cut }), answer(4, { ...cut, ...at(1200) })]
    expect(violations(twoCuts)).toEqual(['no-single-cut'])
  })

  it('finds answers older than requested', () => {
    const bounded = { level: 'bounded', maxAgeMs: 300 } as const
    // At 1000 - 300 all five records were stored.
    expect(violations([answer(4, bounded)])).toEqual(['too-old'])
    expect(violations([answer(4, { ...bounded, ...at(790) })])).toEqual([])
  })

  it('finds answers older than their own age', () => {
    expect(violations([answer(4, { ageMs: 300 })])).toEqual(['too-old'])
    expect(violations([answer(4, { ageMs: 501 })])).toEqual([])
    expect(violations([answer(4, { ageMs: -1 })])).toEqual([])
  })
})
