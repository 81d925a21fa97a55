import { describe, expect, it } from 'vitest'
import type { KnownState } from '../../../src/wire/state/formats.ts'
import { readRange, type WrittenRange } from '../../../src/wire/state/range.ts'

const PLAIN: KnownState = { name: 'S', kind: 'value', keyFormat: 'key/1' }
const TEXTS: KnownState = { name: 'S', kind: 'value', keyFormat: 'string/1' }
const WHOLE: KnownState = { name: 'S', kind: 'value', keyFormat: 'int53/1' }
const WINDOWS: KnownState = { ...PLAIN, keys: 'key-and-window' }
const STARTS: KnownState = { ...PLAIN, keys: 'window' }
const VECTORS: KnownState = { name: 'S', kind: 'vector' }

describe('a written range', () => {
  it.each<[string, KnownState, WrittenRange, object]>([
    ['texts', PLAIN, { from: '5', to: '[1]', prefix: 'a' }, { from: '5', to: '[1]', prefix: 'a' }],
    ['texts, whatever they look like', TEXTS, { prefix: '["a"]' }, { prefix: '["a"]' }],
    ['texts of rows', VECTORS, { from: '5-U', prefix: '5' }, { from: '5-U', prefix: '5' }],
    ['texts where it says so', PLAIN, { prefix: '["a"]', keys: 'text' }, { prefix: '["a"]' }],
    [
      'JSON where it says so',
      PLAIN,
      { from: '5', to: '"5"', prefix: '["a"]', keys: 'json' },
      { from: 5, to: '5', prefix: ['a'] },
    ],
    ['numbers', WHOLE, { from: '-3' }, { from: -3 }],
    ['starts of windows', STARTS, { from: '0', to: '60000' }, { from: 0, to: 60_000 }],
    [
      'keys and windows',
      WINDOWS,
      { prefix: '["ann"]', from: '["ann",0]' },
      { prefix: ['ann'], from: ['ann', 0] },
    ],
    [
      'the key at which a page ended',
      WINDOWS,
      { from: '\u{10ffff}["a",1]\0' },
      { from: '\u{10ffff}["a",1]\0' },
    ],
    ['no bounds where they are empty', PLAIN, { prefix: '' }, {}],
  ])('is read as %s', (_, state, written, read) => {
    expect(readRange(state, written, 'keys=json')).toEqual(read)
  })

  it.each<[string, KnownState, WrittenRange, string]>([
    [
      'a prefix that can be texts and tuples',
      PLAIN,
      { prefix: '["a"]' },
      'the prefix ["a"] can be the start of texts or of tuples, and "S" may have both: say which with keys=json',
    ],
    [
      'a number as prefix',
      PLAIN,
      { prefix: '5', keys: 'json' },
      'a prefix is a text or a tuple, not 5',
    ],
    ['what is no JSON', PLAIN, { from: 'ann', keys: 'json' }, 'ann is no key in JSON'],
    ['what is no key', PLAIN, { from: '{}', keys: 'json' }, '{} is no key in JSON'],
  ])('is refused for %s', (_, state, written, message) => {
    expect(() => readRange(state, written, 'keys=json')).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(message),
      }),
    )
  })
})
