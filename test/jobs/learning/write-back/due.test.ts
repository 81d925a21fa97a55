import { describe, expect, it } from 'vitest'
import { decideWriteBack, isGivenUp } from '../../../../src/jobs/learning/write-back/due.ts'
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

  it('replaces what a run wrote that was given up, though the offsets are the same', () => {
    const decide = (begun: { readonly next: readonly number[] } | undefined) =>
      decideWriteBack({ isPresent: true, before, now: before, begun })
    expect(decide({ next: [9, -1] })).toBe('replace')
    expect(decide({ next: [10, -1] })).toBe('up-to-date')
    expect(decide({ next: [12, 3] })).toBe('up-to-date')
    expect(decide(undefined)).toBe('up-to-date')
  })

  it('writes no rows of a version that the topic does not have', () => {
    expect(decideWriteBack({ isPresent: false, before, now: before })).toBe('no-version')
  })
})

describe('a run that was given up', () => {
  it('has written observations or deltas that the next one had not learned when it began', () => {
    const written = { ...before, deltas: [5, 7] }
    const begun = { next: [10, -1], deltas: [5, 7] }
    expect(isGivenUp(written, begun)).toBe(false)
    expect(isGivenUp(written, { ...begun, next: [] })).toBe(true)
    expect(isGivenUp(written, { ...begun, deltas: [5, 6] })).toBe(true)
    expect(isGivenUp(written, { ...begun, deltas: [5] })).toBe(true)
    // Of an earlier build, which does not say how far the deltas are folded.
    expect(isGivenUp(before, begun)).toBe(false)
    expect(isGivenUp(undefined, begun)).toBe(false)
  })
})
