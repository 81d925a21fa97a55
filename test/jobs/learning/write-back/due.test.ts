import { describe, expect, it } from 'vitest'
import { decideWriteBack } from '../../../../src/jobs/learning/write-back/due.ts'
import type { LearnedPart } from '../../../../src/models/registry/learned-part.ts'

const before: LearnedPart = {
  atMs: 1,
  observations: 'ratings',
  next: [10, -1],
  folded: 'AQ==',
}

describe('the decision to write rows back', () => {
  it('writes the first time that something was learned', () => {
    const facts = { isPresent: true, before: undefined, now: before }
    expect(decideWriteBack(facts)).toBe('write')
    expect(decideWriteBack({ ...facts, now: { ...before, next: [-1, -1] } })).toBe('not-learned')
    expect(decideWriteBack({ ...facts, now: { ...before, next: [] } })).toBe('not-learned')
  })

  it('writes again when observations or deltas were learned since', () => {
    const decide = (now: Partial<LearnedPart>) =>
      decideWriteBack({ isPresent: true, before, now: { ...before, ...now } })
    expect(decide({})).toBe('up-to-date')
    expect(decide({ next: [11, -1] })).toBe('write')
    expect(decide({ next: [10, -1, 3] })).toBe('write')
    expect(decide({ folded: 'AA==' })).toBe('write')
    expect(decide({ observations: 'others' })).toBe('write')
  })

  it('writes no rows of a version that the topic does not have', () => {
    expect(decideWriteBack({ isPresent: false, before, now: before })).toBe('no-version')
  })
})
