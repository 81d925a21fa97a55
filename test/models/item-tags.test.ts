import { expect, it } from 'vitest'
import { boostsIn } from '../../src/models/item-tags.ts'

it('boosts are read from texts, of tags with colons too', () => {
  expect(boostsIn(['NEW:1.2', 'a:b:0.5'])).toEqual({ NEW: 1.2, 'a:b': 0.5 })
  expect(boostsIn([])).toEqual({})
})

it.each([['NEW'], [':2'], ['NEW:'], ['NEW:0'], ['NEW:-1'], ['NEW:x'], ['NEW:0x3']])(
  'the text %s is no boost',
  (text) => {
    expect(() => boostsIn([text])).toThrow(/is no TAG:FACTOR such as NEW:1\.2/)
  },
)

it('a tag with two factors is refused', () => {
  expect(() => boostsIn(['NEW:1.2', 'NEW:1.3'])).toThrow('the tag "NEW" has two factors')
})
