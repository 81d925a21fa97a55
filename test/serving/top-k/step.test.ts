import { expect, test } from 'vitest'
import {
  type Backoff,
  backoffAfterScoring,
  backoffAfterScreening,
  encodingsOfPass,
  NO_BACKOFF,
  type SegmentFacts,
  segmentStep,
  tooMany,
} from '../../../src/serving/top-k/step.ts'

const CALM: SegmentFacts = {
  rows: 1024,
  coded: true,
  writesSinceCoded: 0,
  writesSinceScan: 0,
  bounded: true,
  waiting: 0,
  mayEncode: true,
}

test('a coded segment that nothing wrote to is screened', () => {
  expect(segmentStep(CALM)).toBe('screen')
})

test('a segment that changed a little has its codes refreshed, one without codes gets them', () => {
  expect(segmentStep({ ...CALM, writesSinceCoded: 9, writesSinceScan: 9 })).toBe('refresh')
  expect(segmentStep({ ...CALM, coded: false, writesSinceScan: 9 })).toBe('encode')
})

test('old codes are refreshed when their segment has few changes again', () => {
  expect(segmentStep({ ...CALM, writesSinceCoded: 9e9, writesSinceScan: 3 })).toBe('refresh')
})

test('a segment that changes much between two passes is scored, as is one in its first pass', () => {
  expect(segmentStep({ ...CALM, writesSinceCoded: 99, writesSinceScan: 99 })).toBe('score')
  const met = { ...CALM, coded: false, writesSinceScan: Number.POSITIVE_INFINITY }
  expect(segmentStep(met)).toBe('score')
})

test('a segment is scored while a query has fewer than k rows, and where there is no room for codes', () => {
  expect(segmentStep({ ...CALM, bounded: false })).toBe('score')
  expect(segmentStep({ ...CALM, coded: false, mayEncode: false })).toBe('score')
})

test('screening that finds too many candidates is skipped for longer and longer', () => {
  let backoff: Backoff = NO_BACKOFF
  let screened = 0
  for (let segment = 0; segment < 127; segment++) {
    const step = segmentStep({ ...CALM, waiting: backoff.waiting })
    if (step === 'screen') screened++
    backoff =
      step === 'screen' ? backoffAfterScreening(backoff, false) : backoffAfterScoring(backoff)
  }
  expect(screened).toBe(7)
  expect(backoffAfterScreening(backoff, true)).toEqual(NO_BACKOFF)
})

test('a pass makes codes for an eighth of the segments', () => {
  expect(encodingsOfPass(3)).toBe(8)
  expect(encodingsOfPass(800)).toBe(100)
})

test('more queries may have more candidates', () => {
  expect(tooMany(40, 1)).toBe(false)
  expect(tooMany(41, 1)).toBe(true)
  expect(tooMany(160, 16)).toBe(false)
  expect(tooMany(161, 16)).toBe(true)
})
