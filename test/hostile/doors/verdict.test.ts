import { expect, test } from 'vitest'
import {
  BUDGET_BYTES,
  type DoorMeasured,
  doorProblems,
  LONGEST_REQUEST_MS,
  MOST_BYTES,
  MOST_TLS_BYTES,
  MOST_TURN_MS,
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
  answered: 100,
  lost,
})

const SOUND: DoorMeasured = {
  solo: measurement(10, 20),
  attack: measurement(30, 100),
  turnMs: MOST_TURN_MS,
  waited: { p99Ms: 0, worstMs: 0 },
  peakBytes: BUDGET_BYTES + MOST_BYTES,
  keptBytes: MOST_BYTES,
  isTls: false,
  longestMs: LONGEST_REQUEST_MS,
}

test('waits, memory and lives at their limits are no problem', () => {
  expect(doorProblems(SOUND)).toEqual([])
  expect(doorProblems({ ...SOUND, longestMs: undefined })).toEqual([])
})

test('each figure beyond its limit is a problem', () => {
  expect(
    doorProblems({
      solo: measurement(10, 20),
      attack: measurement(31, 101, ['no answer', 'no answer']),
      turnMs: MOST_TURN_MS + 1,
      waited: { p99Ms: 0, worstMs: 0 },
      peakBytes: BUDGET_BYTES + MOST_BYTES + 1024 ** 2,
      keptBytes: MOST_BYTES + 1024 ** 2,
      isTls: false,
      longestMs: LONGEST_REQUEST_MS + 1,
    }),
  ).toEqual([
    'the good client lost 2 answers: no answer',
    'the good client waited 101.0 ms, at most 100.0 ms',
    'p99 31.0 ms, at most 30.0 ms (10.0 ms without the attack)',
    'a turn of the event loop took 101.0 ms, at most 100.0 ms',
    'memory grew by 321 MiB',
    '65 MiB stay',
    'a request that was not whole lived 14001.0 ms',
  ])
})

test('what the machine is late by itself, as the witness shows, is no fault of the server', () => {
  const late = { ...measurement(31, 130), witness: { p99Ms: 2, worstMs: 35 } }
  expect(doorProblems({ ...SOUND, attack: late })).toEqual([])
  const later = { ...late, good: { p99Ms: 32, worstMs: 131 } }
  expect(doorProblems({ ...SOUND, attack: later })).toHaveLength(2)
})

test('neither is the time in which the server had no processor', () => {
  const late = measurement(37, 140)
  const waited = { p99Ms: 7, worstMs: 40 }
  expect(doorProblems({ ...SOUND, attack: late, waited })).toEqual([])
  const later = measurement(38, 141)
  expect(doorProblems({ ...SOUND, attack: later, waited })).toHaveLength(2)
})

test('what a busy machine adds to waits and to the end of lives may be left out, of memory nothing', () => {
  const late = { ...SOUND, attack: measurement(130, 200), keptBytes: MOST_BYTES + 1024 ** 2 }
  expect(doorProblems(late)).toHaveLength(3)
  expect(doorProblems(late, 100)).toEqual(['65 MiB stay'])
  const old = { ...SOUND, longestMs: LONGEST_REQUEST_MS + 500 }
  expect(doorProblems(old, 99)).toHaveLength(1)
  expect(doorProblems(old, 100)).toEqual([])
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
  expect(doorProblems(tls)).toEqual([])
  expect(doorProblems({ ...tls, keptBytes: MOST_TLS_BYTES + 1024 ** 2 })).toEqual(['161 MiB stay'])
})
