import { expect, it } from 'vitest'
import { parseConsistency } from '../../src/wire/consistency-text.ts'

it.each([
  ['live', { level: 'live' }],
  ['checkpoint', { level: 'checkpoint' }],
  ['bounded:200', { level: 'bounded', maxAgeMs: 200 }],
  ['at-least:3:700', { level: 'at-least', source: 0, partition: 3, offset: 700 }],
  ['at-least:1:3:700', { level: 'at-least', source: 1, partition: 3, offset: 700 }],
])('the text %s names a consistency', (text, consistency) => {
  expect(parseConsistency(text)).toEqual(consistency)
})

it.each([
  '',
  'soon',
  'live:1',
  'bounded',
  'bounded:-1',
  'bounded:1:2',
  'at-least:1',
  'at-least:1:2:3:4',
  'at-least:1:99999999999999999999',
  // Source and partition share 31 bits: these would become other positions.
  'at-least:16777216:1',
  'at-least:128:0:1',
  'at-least:677:704405800988664:72',
])('the text "%s" names none', (text) => {
  expect(parseConsistency(text)).toBeUndefined()
})
