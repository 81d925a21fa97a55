import { describe, expect, it } from 'vitest'
import {
  areOfOneTopic,
  placeOfRange,
  type RangePlace,
  rangesHere,
} from '../../../../src/models/registry/ranges/range-place.ts'

type Topic = { readonly topic: string; readonly topicId?: string }

describe('placeOfRange', () => {
  it.each<[string, Topic, string, RangePlace]>([
    ['the same id', { topic: 'ratings', topicId: 'a' }, 'a', 'here'],
    ['the same id under another name', { topic: 'old-name', topicId: 'a' }, 'a', 'here'],
    ['another id under the same name', { topic: 'ratings', topicId: 'b' }, 'a', 'elsewhere'],
    ['no id', { topic: 'ratings' }, 'a', 'taken-for-here'],
    ['no id and another name', { topic: 'others' }, 'a', 'elsewhere'],
    ['an id, where the topic has none', { topic: 'ratings', topicId: 'a' }, '', 'taken-for-here'],
    ['an unknown topic', { topic: 'ratings', topicId: '' }, 'a', 'elsewhere'],
    ['an unknown topic, twice', { topic: 'ratings', topicId: '' }, '', 'elsewhere'],
  ])('%s', (_, range, id, place) => {
    expect(placeOfRange(range, { topic: 'ratings', id })).toBe(place)
  })
})

it('rangesHere keeps the ranges of the topic and those that are taken for it', () => {
  const [own, old, other] = [
    { topic: 'ratings', topicId: 'a' },
    { topic: 'ratings' },
    { topic: 'ratings', topicId: 'b' },
  ]
  expect(rangesHere([own, old, other], { topic: 'ratings', id: 'a' })).toEqual([own, old])
})

it('ranges are of one topic by their ids, and by name where one has none', () => {
  const [a, b] = [
    { topic: 'ratings', topicId: 'a' },
    { topic: 'ratings', topicId: 'b' },
  ]
  expect(areOfOneTopic(a, { ...a })).toBe(true)
  expect(areOfOneTopic(a, b)).toBe(false)
  expect(areOfOneTopic(a, { topic: 'ratings' })).toBe(true)
  expect(areOfOneTopic({ topic: 'ratings' }, { topic: 'examples' })).toBe(false)
})
