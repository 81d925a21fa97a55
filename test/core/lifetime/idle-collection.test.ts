import { expect, it } from 'vitest'
import { decideCollection, type IdleFacts } from '../../../src/core/lifetime/idle-collection.ts'

const MIB = 1024 * 1024
const FACTS: IdleFacts = {
  utilization: 0.01,
  usedBytes: 30 * MIB,
  heldBytes: 200 * MIB,
  heldAfterBytes: 60 * MIB,
}

it('an idle thread that holds more than after its last collection is collected', () => {
  expect(decideCollection(FACTS)).toBe('collect')
})

it('a busy thread is not, nor one whose heap is so large that its clients would wait', () => {
  expect(decideCollection({ ...FACTS, utilization: 0.5 })).toBe('busy')
  expect(decideCollection({ ...FACTS, usedBytes: 65 * MIB })).toBe('too-large')
})

it('a collection that would give little back is left out, so that an idle thread is not collected forever', () => {
  expect(decideCollection({ ...FACTS, heldBytes: 75 * MIB })).toBe('not-worth')
})
