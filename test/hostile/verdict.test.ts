import { expect, test } from 'vitest'
import {
  isClear,
  KEPT_BYTES,
  lowerMedianOf,
  type Measured,
  medianOf,
  mostMs,
  type P99,
  problemsOf,
} from './verdict.ts'

const p99 = (soloMs: number, controlMs: number, attackMs: number): P99 => ({
  soloMs,
  controlMs,
  attackMs,
  mostMs: mostMs({ soloMs, controlMs }, 1),
})

const MEASURED: Measured = {
  prediction: p99(0.5, 2, 6),
  value: p99(2, 0.5, 6),
  checkpoints: { completed: 10, due: 10 },
  keptBytes: KEPT_BYTES,
}

test('three times the larger figure without the attack passes, and what is noise', () => {
  expect(problemsOf(MEASURED)).toEqual([])
  expect(problemsOf({ ...MEASURED, prediction: p99(0.1, 0.1, 1) })).toEqual([])
})

test('a later answer, late checkpoints and memory that stays are problems', () => {
  const problems = problemsOf({
    prediction: p99(0.5, 2, 6.1),
    value: p99(2, 0.5, 6.1),
    checkpoints: { completed: 2, due: 10 },
    keptBytes: KEPT_BYTES + 1,
  })
  expect(problems).toEqual([
    'p99 of a prediction 6.1 ms, at most 6.0 ms (0.5 ms without the attack, 2.0 ms beside the same work elsewhere)',
    'p99 of a value 6.1 ms, at most 6.0 ms (2.0 ms without the attack, 0.5 ms beside the same work elsewhere)',
    '2 checkpoints of 10',
    '96 MiB stay',
  ])
})

test('the figure beside an attack on another server is reported and changes no limit', () => {
  const prediction = { ...p99(0.5, 2, 6.1), elsewhereMs: 5.9 }
  expect(problemsOf({ ...MEASURED, prediction })).toEqual([
    'p99 of a prediction 6.1 ms, at most 6.0 ms (0.5 ms without the attack, 2.0 ms beside the same work elsewhere, 5.9 ms beside the same attack on another server)',
  ])
})

test('a figure at half of its limit is clear', () => {
  expect(isClear(p99(1, 2, 3))).toBe(true)
  expect(isClear(p99(1, 2, 3.1))).toBe(false)
})

test('the median of rounds leaves one outlier out', () => {
  expect(medianOf([90, 1, 2])).toBe(2)
  expect(medianOf([7])).toBe(7)
})

test('of two figures in the middle, the larger one is taken for an attack and the smaller one for its limit', () => {
  expect(medianOf([90, 1, 2, 3])).toBe(3)
  expect(lowerMedianOf([90, 1, 2, 3])).toBe(2)
  expect(lowerMedianOf([3, 1, 2])).toBe(2)
})
