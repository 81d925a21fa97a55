import { describe, expect, it } from 'vitest'
import { createToken, tokenIdOf } from '../../../src/http/access/token.ts'
import { tokenOf } from './tokens.ts'

describe('createToken', () => {
  it('gives a text with id and secret, and a record with the hash only', () => {
    const { text, record } = tokenOf(1, { name: 'dashboard', role: 'write', createdMs: 5 })
    expect(text).toBe('weir_010101010101_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE')
    expect(record).toEqual({
      id: '010101010101',
      name: 'dashboard',
      role: 'write',
      createdMs: 5,
      sha256: '27601d188d64895b2b2f1dede4d968a75a2941fd1521564a6774a92f954f32e7',
    })
    expect(JSON.stringify(record)).not.toContain(text.slice(-40))
  })

  it('refuses fewer random bytes than a token has', () => {
    expect(() => createToken({ name: '', role: 'read', createdMs: 0 }, new Uint8Array(16))).toThrow(
      'a token takes 38 random bytes, not 16',
    )
  })
})

describe('tokenIdOf', () => {
  it.each([
    [tokenOf(1).text, '010101010101'],
    [`${tokenOf(1).text}x`, undefined],
    [tokenOf(1).text.slice(0, -1), undefined],
    ['weir_010101010101_', undefined],
    ['a shared secret', undefined],
    ['', undefined],
  ])('of "%s" is %s', (text, id) => {
    expect(tokenIdOf(text)).toBe(id)
  })
})
