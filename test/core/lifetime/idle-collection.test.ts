import { expect, it } from 'vitest'
import { decideCollection, type IdleFacts } from '../../../src/core/lifetime/idle-collection.ts'

const MIB = 1024 * 1024
const FACTS: IdleFacts = {
  utilization: 0.01,
  liveBytes: 30 * MIB,
  heldBytes: 200 * MIB,
  heldAfterBytes: 60 * MIB,
  markings: 0,
}

it('an idle thread that holds more than after its last collection is collected', () => {
  expect(decideCollection(FACTS)).toBe('collect')
})

it('a busy thread is not', () => {
  expect(decideCollection({ ...FACTS, utilization: 0.5 })).toBe('busy')
})

it('one where so much lives that its clients would wait is collected in the background, twice', () => {
  const large = { ...FACTS, liveBytes: 65 * MIB }
  expect(decideCollection(large)).toBe('mark')
  expect(decideCollection({ ...large, markings: 1 })).toBe('mark')
  expect(decideCollection({ ...large, markings: 2 })).toBe('too-large')
})

it('a collection that would give little back is left out, so that an idle thread is not collected forever', () => {
  expect(decideCollection({ ...FACTS, heldBytes: 75 * MIB })).toBe('not-worth')
})
