import { describe, expect, it } from 'vitest'
import { decideListener, isLoopback } from '../../../src/http/access/listener.ts'

const WHAT = { what: 'the query port', isInsecureAllowed: false }

/** `start`, `warn` or `refuse`. */
function outcome(host: string, tls: boolean, tokens: boolean, isInsecureAllowed: boolean): string {
  try {
    const facts = { what: 'a port', host, hasTls: tls, hasTokens: tokens, isInsecureAllowed }
    return decideListener(facts).warning === undefined ? 'start' : 'warn'
  } catch {
    return 'refuse'
  }
}

describe('decideListener', () => {
  it.each([
    // host, TLS, tokens, --insecure-listener, outcome
    ['127.0.0.1', false, false, false, 'start'],
    ['127.0.0.1', false, false, true, 'start'],
    ['127.0.0.1', false, true, false, 'start'],
    ['127.0.0.1', true, false, false, 'start'],
    ['127.0.0.1', true, true, false, 'start'],
    ['0.0.0.0', false, false, false, 'refuse'],
    ['0.0.0.0', true, false, false, 'refuse'],
    ['0.0.0.0', false, true, false, 'refuse'],
    ['0.0.0.0', true, true, false, 'start'],
    ['0.0.0.0', false, false, true, 'warn'],
    ['0.0.0.0', true, false, true, 'warn'],
    ['0.0.0.0', false, true, true, 'warn'],
    ['0.0.0.0', true, true, true, 'start'],
    ['', false, false, false, 'refuse'],
    ['::', false, false, false, 'refuse'],
    ['weir.example.org', false, true, false, 'refuse'],
  ] as const)(
    'on "%s" with TLS %s, tokens %s, insecure %s: %s',
    (host, tls, tokens, insecure, expected) => {
      expect(outcome(host, tls, tokens, insecure)).toBe(expected)
    },
  )

  it('says what is missing and which flags give it', () => {
    const facts = { ...WHAT, host: '0.0.0.0', hasTls: false, hasTokens: false }
    expect(() => decideListener(facts)).toThrow(
      'the query port cannot listen on 0.0.0.0 without TLS and tokens: other machines can reach it. Give --server-tls-cert and --server-tls-key, and --tokens FILE ("weir token create --role read --tokens FILE" makes it), listen on 127.0.0.1, or allow it with --insecure-listener',
    )
  })

  it('names the danger of every insecure start', () => {
    const facts = { ...WHAT, host: '', isInsecureAllowed: true }
    expect(decideListener({ ...facts, hasTls: false, hasTokens: true }).warning).toBe(
      'the query port on all addresses is insecure: it has no TLS, so everyone on the way can read and change what is sent, tokens too',
    )
    expect(decideListener({ ...facts, hasTls: true, hasTokens: false }).warning).toContain(
      'it has no tokens, so everyone who reaches it can use it',
    )
  })
})

describe('isLoopback', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.8.9.1', true],
    ['::1', true],
    ['[::1]', true],
    ['::ffff:127.0.0.1', true],
    ['LOCALHOST', true],
    ['127.0.0.1.example.org', false],
    ['localhost.example.org', false],
    ['0.0.0.0', false],
    ['::', false],
    ['', false],
    ['10.0.0.1', false],
    ['::ffff:10.0.0.1', false],
  ])('%s: %s', (host, expected) => {
    expect(isLoopback(host)).toBe(expected)
  })
})
