import { expect, test } from 'vitest'
import {
  BUDGET_BYTES,
  type DoorMeasured,
  judge,
  LEAST_FULL_MS,
  LEAST_SAMPLES,
  LONGEST_REQUEST_MS,
  MOST_BYTES,
  MOST_TLS_BYTES,
  MOST_TURN_MS,
  MOST_WAITED_SHARE,
  WAITING_BYTES,
  worstOf,
} from './verdict.ts'
import type { Measurement } from './waits.ts'

const measurement = (
  p99Ms: number,
  worstMs: number,
  lost: readonly string[] = [],
): Measurement => ({
  good: { p99Ms, worstMs },
  witness: { p99Ms: 1, worstMs: 5 },
  answered: LEAST_SAMPLES,
  lost,
})

const SOUND: DoorMeasured = {
  solo: measurement(10, 20),
  attack: measurement(30, 100),
  turnMs: MOST_TURN_MS,
  waited: { p99Ms: 0, worstMs: 0 },
  waitedShare: MOST_WAITED_SHARE,
  fullMs: LEAST_FULL_MS,
  attackersLateMs: 0,
  youngBytes: 7,
  peakBytes: BUDGET_BYTES + WAITING_BYTES + MOST_BYTES + 7,
  keptBytes: MOST_BYTES,
  isTls: false,
  longestMs: LONGEST_REQUEST_MS,
}
const PASSED = { harms: [], late: [], unjudged: [] }

test('waits, memory and lives at their limits are no problem', () => {
  expect(judge(SOUND)).toEqual(PASSED)
  expect(judge({ ...SOUND, longestMs: undefined })).toEqual(PASSED)
})

test('each figure beyond its limit is a problem', () => {
  expect(
    judge({
      ...SOUND,
      attack: measurement(31, 101, ['no answer', 'no answer']),
      turnMs: MOST_TURN_MS + 1,
      peakBytes: BUDGET_BYTES + WAITING_BYTES + MOST_BYTES + 1024 ** 2,
      keptBytes: MOST_BYTES + 1024 ** 2,
      longestMs: LONGEST_REQUEST_MS + 1,
    }),
  ).toEqual({
    harms: [
      'the good client lost 2 answers: no answer',
      'a turn of the event loop took 101.0 ms, at most 100.0 ms',
      'memory grew by 417 MiB',
      '97 MiB stay',
    ],
    late: [
      'the good client waited 101.0 ms, at most 100.0 ms',
      'p99 of 102 answers, 10.0 ms without the attack: 31.0 ms, at most 30.0 ms',
      'a request that was not whole lived 14001.0 ms, at most 14000.0 ms',
    ],
    unjudged: [],
  })
})

test('a wait that the machine explains, as the witness shows, is not judged', () => {
  const late = { ...measurement(31, 130), witness: { p99Ms: 2, worstMs: 35 } }
  expect(judge({ ...SOUND, attack: late })).toEqual({
    ...PASSED,
    unjudged: [
      'the good client waited 130.0 ms, at most 100.0 ms; the machine was late by 30.0 ms',
      expect.stringContaining('31.0 ms, at most 30.0 ms; the machine was late by 1.0 ms'),
    ],
  })
  const later = { ...late, good: { p99Ms: 32, worstMs: 131 } }
  expect(judge({ ...SOUND, attack: later }).late).toHaveLength(2)
})

test('neither is one for which the server had no processor', () => {
  const late = measurement(37, 140)
  const waited = { p99Ms: 7, worstMs: 40 }
  const { harms, late: tooLate, unjudged } = judge({ ...SOUND, attack: late, waited })
  expect([harms, tooLate]).toEqual([[], []])
  expect(unjudged).toHaveLength(2)
  const later = measurement(38, 141)
  expect(judge({ ...SOUND, attack: later, waited }).late).toHaveLength(2)
})

test('nor any of a server that had no processor again and again; what it did is', () => {
  const late = { ...SOUND, attack: measurement(31, 900, ['no answer']), waitedShare: 0.3 }
  expect(judge(late)).toEqual({
    harms: ['the good client lost 1 answers: no answer'],
    late: [],
    unjudged: [
      expect.stringContaining('900.0 ms, at most 100.0 ms; the server had no processor for 30 %'),
      expect.stringContaining('31.0 ms, at most 30.0 ms; the server had no processor for 30 %'),
    ],
  })
})

test('nor the life of a connection whose end the attackers saw late', () => {
  const old = { ...SOUND, longestMs: LONGEST_REQUEST_MS + 500 }
  expect(judge({ ...old, attackersLateMs: 500 }).unjudged).toHaveLength(1)
  expect(judge({ ...old, attackersLateMs: 499 }).late).toHaveLength(1)
})

test('an attack that hardly ran, or beside which hardly anyone asked, shows nothing', () => {
  const short = { ...SOUND, fullMs: LEAST_FULL_MS - 1 }
  expect(judge(short).unjudged).toEqual(['the attack ran for 999.0 ms only'])
  const few = { ...SOUND, attack: { ...SOUND.attack, answered: LEAST_SAMPLES - 1 } }
  expect(judge(few).unjudged).toEqual(['99 answers have no 99th percentile'])
})

test('what a busy machine adds to waits and to the end of lives may be left out, of memory nothing', () => {
  const late = { ...SOUND, attack: measurement(130, 200), keptBytes: MOST_BYTES + 1024 ** 2 }
  expect(judge(late).late).toHaveLength(2)
  expect(judge(late, 100)).toEqual({ ...PASSED, harms: ['97 MiB stay'] })
  const old = { ...SOUND, longestMs: LONGEST_REQUEST_MS + 500 }
  expect(judge(old, 99).late).toHaveLength(1)
  expect(judge(old, 100)).toEqual(PASSED)
})

test('the worst figures of cases are each those of the worst case, without what the machine was late', () => {
  const late = { ...SOUND, attack: measurement(60, 90), waited: { p99Ms: 10, worstMs: 40 } }
  expect(worstOf([SOUND, late])).toEqual({
    ...{ waitMs: 100, ownWaitMs: 100, p99Times: 5, turnMs: MOST_TURN_MS },
    ...{ peakBytes: SOUND.peakBytes, keptBytes: SOUND.keptBytes },
  })
})

test('a door with TLS may keep more', () => {
  const tls = { ...SOUND, isTls: true, keptBytes: MOST_TLS_BYTES }
  expect(judge(tls)).toEqual(PASSED)
  expect(judge({ ...tls, keptBytes: MOST_TLS_BYTES + 1024 ** 2 }).harms).toEqual(['161 MiB stay'])
})
