import { expect, it } from 'vitest'
import { topKRequest } from '../../src/client/request-bodies.ts'
import { REQUEST_FLAG } from '../../src/wire/frame.ts'

it('a top-k with rules that name no tag is a request without rules, which older servers read', () => {
  const flagsOf = (where: object): number => topKRequest('S', '1-U', { k: 1, where }).flags
  const plain = topKRequest('S', '1-U', { k: 1 }).flags
  const empty = [{}, { anyOf: [], noneOf: [], boost: {} }]
  expect(empty.map(flagsOf)).toEqual([plain, plain])
  const ruled = plain | REQUEST_FLAG.where
  const rules = [{ anyOf: ['a'] }, { noneOf: ['a'] }, { boost: { a: 2 } }]
  expect(rules.map(flagsOf)).toEqual([ruled, ruled, ruled])
})
