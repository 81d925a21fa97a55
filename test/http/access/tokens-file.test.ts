import { describe, expect, it } from 'vitest'
import { parseRight } from '../../../src/http/access/object-rights.ts'
import { formatTokens, parseTokens } from '../../../src/http/access/tokens-file.ts'
import { tokenOf } from './tokens.ts'

const SHA256 = 'ab'.repeat(32)
const FIELDS = {
  id: '0123456789ab',
  name: 'x',
  role: 'read',
  sha256: SHA256,
  created: '2026-01-31T00:00:00Z',
}

const textWith = (changes: object): string =>
  JSON.stringify({ version: 1, tokens: [{ ...FIELDS, ...changes }] })

describe('tokens file', () => {
  it('reads what it wrote', () => {
    const records = [
      tokenOf(1, { role: 'admin', name: 'Jörg’s laptop', createdMs: 1_700_000_000_000 }).record,
      tokenOf(2, { expiresMs: 1_800_000_000_000, limit: { perSecond: 0.5, burst: 10 } }).record,
    ]
    expect(parseTokens(formatTokens(records), 'f')).toEqual(records)
  })

  it('keeps rights, and is of version 2 only with them', () => {
    const limited = tokenOf(3, { rights: [parseRight('read:model:fraud-*')] }).record
    const text = formatTokens([tokenOf(1).record, limited])
    expect(text).toContain('"version": 2')
    expect(text).toContain('"read:model:fraud-*"')
    expect(parseTokens(text, 'f')[1]).toEqual(limited)
    expect(formatTokens([tokenOf(1).record])).toContain('"version": 1')
    expect(parseTokens(textWith({ rights: [] }), 'f')[0]!.rights).toEqual([])
  })

  it.each([['read:model:x'], [['read:tabel:x']], [[7]], [null]])(
    'refuses the rights %j',
    (rights) => {
      expect(() => parseTokens(textWith({ rights }), 'f')).toThrow(
        /MALFORMED_DATA|f: token 1: .*rights?/,
      )
    },
  )

  it('has the documented form', () => {
    expect(parseTokens(textWith({}), 'f')).toEqual([
      {
        id: '0123456789ab',
        name: 'x',
        role: 'read',
        sha256: SHA256,
        createdMs: Date.UTC(2026, 0, 31),
      },
    ])
  })

  it.each([
    ['no JSON', 'weir_secret', 'tokens.json: it is not JSON'],
    ['a list', '[]', 'tokens.json: it is not an object'],
    ['null', 'null', 'tokens.json: it is not an object'],
    ['no version', '{"tokens":[]}', 'tokens.json: it needs "version": 1 or 2'],
    ['a token that is text', '{"version":1,"tokens":["x"]}', 'token 1: it is not an object'],
    [
      'an unknown field',
      textWith({ expire: 'never' }),
      'token 1: it has the unknown field "expire"',
    ],
    ['a wrong id', textWith({ id: '../x' }), 'token 1: "id" is missing'],
    ['a wrong role', textWith({ role: 'root' }), '"role" must be one of read, write, admin'],
    ['a short hash', textWith({ sha256: 'ab' }), '"sha256" is missing or has a wrong form'],
    [
      'a control character',
      textWith({ name: 'a\u001b[2J' }),
      '"name" is missing or has a wrong form',
    ],
    ['a wrong time', textWith({ created: '2026-13-45T99:00Z' }), '"created" is no time'],
    ['a wrong expiry', textWith({ expires: 'soon' }), '"expires" is missing or has a wrong form'],
    ['no burst', textWith({ limit: { perSecond: 1 } }), '"limit" needs "perSecond" above 0'],
    ['a rate of 0', textWith({ limit: { perSecond: 0, burst: 1 } }), '"limit" needs'],
    [
      'an id twice',
      JSON.stringify({ version: 1, tokens: [FIELDS, FIELDS] }),
      'two tokens have the same id',
    ],
  ])('refuses %s', (_, text, message) => {
    expect(() => parseTokens(text, 'tokens.json')).toThrow(
      expect.objectContaining({
        code: 'MALFORMED_DATA',
        message: expect.stringContaining(message),
      }),
    )
  })

  it('does not repeat a token that was saved in its place', () => {
    expect(() => parseTokens(tokenOf(1).text, 'f')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('weir_01') }),
    )
  })

  it('is not changed by fields that name a prototype', () => {
    const text = `{"version":1,"tokens":[{"__proto__":{"role":"admin"},${JSON.stringify(FIELDS).slice(1)}]}`
    expect(() => parseTokens(text, 'f')).toThrow('unknown field "__proto__"')
  })

  it('of a newer Weir is refused as such', () => {
    expect(() => parseTokens('{"version":3,"tokens":[]}', 'f')).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_VERSION' }),
    )
  })
})
