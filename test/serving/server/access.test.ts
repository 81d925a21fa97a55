import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { shareAccess } from '../../../src/http/access/control.ts'
import { readErrorFrame } from '../../../src/wire/answer.ts'
import { KIND } from '../../../src/wire/frame.ts'
import { readWelcome } from '../../../src/wire/hello.ts'
import { beginRequest } from '../../../src/wire/request.ts'
import { keySetOf, rsaKey, signed } from '../../http/access/people/issuer.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { PREAMBLE, TestedServer } from './tested-server.ts'

let served: TestedServer

beforeEach(() => {
  served = new TestedServer()
})

afterEach(() => served.close())

describe('the access of a query server', () => {
  it('refuses a wrong token, whatever its length', async () => {
    const client = await served.start({ access: shareAccess([], 'secret') })
    for (const token of ['', 'secreT', 'secret and more']) {
      const answer = await served.open().hello(token)
      expect(readErrorFrame(answer!).code).toBe('UNAUTHENTICATED')
    }
    expect(readWelcome((await client.hello('secret'))!).version).toBe(1)
  })

  it('takes no token of a person, whose issuer the HTTP ports ask', async () => {
    const [key, issuer] = [rsaKey('one'), 'https://id.example.org']
    const people = { issuer, audience: 'weir', claim: 'groups', clockSkewSeconds: 30 }
    const grants = { ops: { role: 'admin' } } as const
    const settings = { ...people, keys: { json: keySetOf(key) }, grants }
    await served.start({ access: shareAccess([], 'secret', settings) })
    const claims = { iss: issuer, aud: 'weir', sub: 'a', groups: ['ops'], exp: 2 ** 31 }
    const answer = await served.open().hello(signed(key, claims))
    expect(readErrorFrame(answer!).code).toBe('UNAUTHENTICATED')
  })

  it('closes the connections of a token that is revoked, and keeps the others', async () => {
    const [kept, revoked] = [tokenOf(1), tokenOf(2)]
    const client = await served.start({ access: shareAccess([kept.record, revoked.record]) })
    const other = served.open()
    await client.hello(kept.text)
    await other.hello(revoked.text)
    served.server.replaceAccess(shareAccess([kept.record]))
    expect(readErrorFrame((await other.next())!).code).toBe('UNAUTHENTICATED')
    expect(await other.next()).toBeUndefined()
    client.send((writer) => {
      writer.begin(KIND.ping, 0, 9)
      writer.end(0)
    })
    expect((await client.next())!.kind).toBe(KIND.ping + 0x80)
    expect(readErrorFrame((await served.open().hello(revoked.text))!).code).toBe('UNAUTHENTICATED')
  })

  it('closes the connections of a token that expires', async () => {
    const token = tokenOf(1, { expiresMs: served.clock.nowMs() + 5_000 })
    const client = await served.start({ access: shareAccess([token.record]) })
    await client.hello(token.text)
    served.clock.advance(5_000)
    expect(readErrorFrame((await client.next())!).code).toBe('UNAUTHENTICATED')
  })

  it('refuses requests above the rate of their token, and says when to come again', async () => {
    const token = tokenOf(1, { limit: { perSecond: 1, burst: 1 } })
    const client = await served.start({ access: shareAccess([token.record]) })
    await client.hello(token.text)
    const predict = (id: number) =>
      client.send((writer) => {
        beginRequest(writer, KIND.predict, 0, id, PREAMBLE)
        writer.key('1-U')
        writer.key('7-I')
        writer.end(1)
      })
    predict(1)
    expect((await client.next())!.kind).toBe(KIND.predict + 0x80)
    predict(2)
    const error = readErrorFrame((await client.next())!)
    expect(error).toMatchObject({ code: 'OVERLOADED', details: { retryAfterMs: 1000 } })
    served.clock.advance(1_000)
    predict(3)
    expect((await client.next())!.kind).toBe(KIND.predict + 0x80)
  })

  it('counts the bytes of a request as further requests', async () => {
    const token = tokenOf(1, { limit: { perSecond: 1, burst: 3 } })
    const client = await served.start({ access: shareAccess([token.record]) })
    await client.hello(token.text)
    const predict = (id: number, key: string, pairs: number) =>
      client.send((writer) => {
        beginRequest(writer, KIND.predict, 0, id, PREAMBLE)
        for (let i = 0; i < 2 * pairs; i++) writer.key(key)
        writer.end(pairs)
      })
    // Two predictions in 160 kB count as four requests: one more than the burst, which is paid for afterwards.
    predict(1, 'x'.repeat(40_000), 2)
    await client.next()
    predict(2, '1-U', 1)
    const error = readErrorFrame((await client.next())!)
    expect(error).toMatchObject({ code: 'OVERLOADED', details: { retryAfterMs: 2000 } })
  })
})
