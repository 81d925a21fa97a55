import { describe, expect, it, vi } from 'vitest'
import { digestOf } from '../../../src/http/access/token.ts'
import { TokenVerifier } from '../../../src/http/access/token-verifier.ts'
import { tokenOf } from './tokens.ts'

const reader = tokenOf(1)
const writer = tokenOf(2, { role: 'write', name: 'ingest', expiresMs: 1_000 })
const sharedSha256 = digestOf('open sesame').toString('hex')
const verifier = new TokenVerifier({ records: [reader.record, writer.record], sharedSha256 })

/** The token with its last character changed. */
const forged = (text: string): string => `${text.slice(0, -1)}${text.endsWith('A') ? 'E' : 'A'}`

describe('TokenVerifier', () => {
  it.each([
    ['a token', reader.text, { id: reader.record.id, role: 'read' }],
    ['another token', writer.text, { id: writer.record.id, role: 'write', name: 'ingest' }],
    ['the shared token', 'open sesame', { id: 'shared', role: 'admin' }],
  ])('accepts %s and says who holds it', (_, text, principal) => {
    expect(verifier.verify(text, 999)).toMatchObject(principal)
  })

  it.each([
    ['no text', ''],
    ['a forged secret', forged(reader.text)],
    ['a token that was never created', tokenOf(3).text],
    ['the id alone', reader.record.id],
    ['the hash of a token', reader.record.sha256],
    ['a longer text', `${reader.text}A`],
    [
      'the secret of one token with the id of another',
      writer.text.slice(0, 18) + reader.text.slice(18),
    ],
    ['almost the shared token', 'open sesam'],
  ])('refuses %s', (_, text) => {
    expect(verifier.verify(text, 0)).toBeUndefined()
  })

  it('compares hashes, in a time that does not depend on them, whatever the text', () => {
    const { timingSafeEqual } = process.getBuiltinModule('node:crypto')
    const compared = vi.spyOn(process.getBuiltinModule('node:crypto'), 'timingSafeEqual')
    compared.mockImplementation((a, b) => a.byteLength === 32 && timingSafeEqual(a, b))
    for (const text of ['', reader.text, forged(reader.text), tokenOf(3).text, 'open sesame']) {
      verifier.verify(text, 0)
      expect(compared.mock.calls.splice(0)).toHaveLength(1)
    }
    compared.mockRestore()
  })

  it('refuses a token from the moment at which it expires', () => {
    expect(verifier.verify(writer.text, 999)).toBeDefined()
    expect(verifier.verify(writer.text, 1_000)).toBeUndefined()
  })

  it('accepts a shared token that has the form of a created one', () => {
    const shared = new TokenVerifier({
      records: [],
      sharedSha256: digestOf(reader.text).toString('hex'),
    })
    expect(shared.verify(reader.text, 0)).toMatchObject({ id: 'shared' })
  })
})
