import { expect, it } from 'vitest'
import { isLearningStopped, stopsUntil } from '../../../src/models/registry/learning-phase.ts'

it('learning is stopped in every second phase', () => {
  expect([0, 1, 2, 3].map(isLearningStopped)).toEqual([false, true, false, true])
})

it('a phase says how often learning was stopped until then', () => {
  expect([0, 1, 2, 3, 4].map(stopsUntil)).toEqual([0, 1, 1, 2, 2])
})
