import { expect, it } from 'vitest'
import { RateMeter } from '../../../dashboard/src/data/rate-meter.ts'

it('measures rates between two answers, and keeps them until the next one', () => {
  let nowMs = 0
  const meter = new RateMeter(() => nowMs)
  const first = {}
  expect(meter.rateOf('p', { end: 100, position: 50 }, first)).toEqual({})
  nowMs = 2000
  const second = {}
  const rate = { appended: 10, applied: 25 }
  expect(meter.rateOf('p', { end: 120, position: 100 }, second)).toEqual(rate)
  nowMs = 3000
  expect(meter.rateOf('p', { end: 120, position: 100 }, second)).toEqual(rate)
  expect(meter.rateOf('other', { end: 1, position: 1 }, second)).toEqual({})
})

it('has no rate of applied records without a position, and none below zero', () => {
  let nowMs = 0
  const meter = new RateMeter(() => nowMs)
  meter.rateOf('p', { end: 10, position: null }, {})
  nowMs = 1000
  expect(meter.rateOf('p', { end: 5, position: 3 }, {})).toEqual({ appended: 0 })
})
