import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { shareAccess } from '../../../../src/http/access/control.ts'
import { parseRight } from '../../../../src/http/access/object-rights.ts'
import { httpAccess } from '../../../../src/http/access/people/http-access.ts'
import type { PeopleSettings } from '../../../../src/http/access/people-settings.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { tokenOf } from '../tokens.ts'
import { ecKey, keySetOf, rsaKey, signed, signedWithPublicKey, unsigned } from './issuer.ts'

const NOW = 1_800_000_000
const KEY = rsaKey('one')
const EC = ecKey('two')
const STRANGER = rsaKey('one')
const CLAIMS = {
  iss: 'https://id.example.org',
  aud: 'weir',
  sub: 'joerg',
  name: 'Jörg',
  groups: ['fraud', 'others'],
  exp: NOW + 600,
}
const SETTINGS: PeopleSettings = {
  issuer: 'https://id.example.org',
  audience: 'weir',
  keys: { json: keySetOf(KEY, EC) },
  claim: 'groups',
  clockSkewSeconds: 30,
  grants: {
    ops: { role: 'admin' },
    fraud: { role: 'read', rights: [parseRight('admin:model:fraud-*')] },
  },
}

function accessOf(settings: Partial<PeopleSettings> = {}) {
  const clock = new ManualClock(NOW * 1000)
  const program = tokenOf(1)
  const share = shareAccess([program.record], undefined, { ...SETTINGS, ...settings })
  const access = httpAccess(share, clock)
  const ask = async (token: string, needed: 'read' | 'admin' = 'read', on?: string) => {
    await access.prove(token)
    const object = on === undefined ? {} : { on: { kind: 'model', name: on } as const }
    return access.authorize(token, needed, object)
  }
  return { access, clock, program, ask }
}

describe('the token of a person', () => {
  it.each([
    ['RS256', KEY],
    ['ES256', EC],
  ])('is accepted with a signature by %s, with what the claims allow', async (_, key) => {
    const { ask } = accessOf()
    const token = signed(key, CLAIMS)
    expect(await ask(token)).toMatchObject({
      kind: 'allowed',
      principal: { id: 'person:joerg', name: 'Jörg', role: 'read' },
    })
    expect((await ask(token, 'admin', 'fraud-1')).kind).toBe('allowed')
    expect((await ask(token, 'read', 'other')).kind).toBe('forbidden')
    expect((await ask(token, 'admin')).kind).toBe('forbidden')
  })

  const { exp: _, ...withoutEnd } = CLAIMS
  const { sub: __, ...withoutName } = CLAIMS
  it.each([
    ['without a signature', unsigned(CLAIMS)],
    ['with HMAC by the public key', signedWithPublicKey(KEY, CLAIMS)],
    ['of another key with the same id', signed(STRANGER, CLAIMS)],
    ['whose header names another algorithm', signed(KEY, CLAIMS, { alg: 'RS384' })],
    ['whose header says none', signed(KEY, CLAIMS, { alg: 'none' })],
    [
      'whose header brings its own key',
      signed(STRANGER, CLAIMS, { kid: 'new', jwk: STRANGER.publicKey.export({ format: 'jwk' }) }),
    ],
    ['with an unknown critical field', signed(KEY, CLAIMS, { crit: ['x'], x: 1 })],
    ['of another issuer', signed(KEY, { ...CLAIMS, iss: 'https://id.example.org/' })],
    ['for another audience', signed(KEY, { ...CLAIMS, aud: ['mail', 'weir2'] })],
    ['without an audience', signed(KEY, { ...CLAIMS, aud: undefined })],
    ['that has expired', signed(KEY, { ...CLAIMS, exp: NOW - 31 })],
    ['that never expires', signed(KEY, withoutEnd)],
    ['whose end is no number', signed(KEY, { ...CLAIMS, exp: '9999999999' })],
    ['that is not valid yet', signed(KEY, { ...CLAIMS, nbf: NOW + 31 })],
    ['of no one', signed(KEY, withoutName)],
    ['without a grant', signed(KEY, { ...CLAIMS, groups: ['others', '__proto__', 'constructor'] })],
    ['whose groups are no texts', signed(KEY, { ...CLAIMS, groups: [{ ops: true }, 7] })],
    [
      'whose body was changed',
      signed(KEY, CLAIMS).replace(
        /\.[^.]+\./,
        `.${Buffer.from(JSON.stringify({ ...CLAIMS, groups: ['ops'] })).toString('base64url')}.`,
      ),
    ],
  ])('is refused %s', async (_name, token) => {
    const { ask } = accessOf()
    expect((await ask(token)).kind).toBe('unauthenticated')
  })

  it('is accepted while the clocks differ no more than allowed, and ends afterwards', async () => {
    const { ask, access, clock } = accessOf()
    const token = signed(KEY, { ...CLAIMS, exp: NOW + 10, nbf: NOW + 30 })
    expect((await ask(token)).kind).toBe('allowed')
    const principal = access.authenticate(token)!
    clock.advance(39_000)
    expect((await ask(token)).kind).toBe('allowed')
    expect(access.holds(principal)).toBe(true)
    clock.advance(1_000)
    expect((await ask(token)).kind).toBe('unauthenticated')
    expect(access.holds(principal)).toBe(false)
  })

  it('is verified before it is used, and the tokens of programs go on as before', async () => {
    const { access, program, ask } = accessOf()
    expect(access.authorize(signed(KEY, CLAIMS), 'read').kind).toBe('unauthenticated')
    expect(access.prove(program.text)).toBeUndefined()
    expect((await ask(program.text)).kind).toBe('allowed')
  })

  it('has the strongest role of its groups; a group without rights holds for all objects', async () => {
    const { ask } = accessOf()
    const token = signed(KEY, { ...CLAIMS, groups: ['fraud', 'ops'] })
    expect((await ask(token, 'admin')).kind).toBe('allowed')
    expect((await ask(token, 'admin', 'other')).kind).toBe('allowed')
  })

  it('names its groups in a claim within another one, or in one text', async () => {
    const nested = accessOf({ claim: 'realm_access.roles' })
    const claims = { ...CLAIMS, realm_access: { roles: ['ops'] } }
    expect((await nested.ask(signed(KEY, claims), 'admin')).kind).toBe('allowed')
    const scope = accessOf({ claim: 'scope' })
    expect((await scope.ask(signed(KEY, { ...CLAIMS, scope: 'openid ops' }), 'admin')).kind).toBe(
      'allowed',
    )
  })
})

describe('a key set at a URL', () => {
  let server: Server | undefined
  afterEach(() => server?.close())

  async function serve(
    answer: () => { readonly status?: number; readonly body: string; readonly location?: string },
  ) {
    let requests = 0
    server = createServer((_request, response) => {
      requests++
      const { status = 200, body, location } = answer()
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(location === undefined ? {} : { location }),
      })
      response.end(body)
    })
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    return { url: `http://127.0.0.1:${port}/keys`, requests: () => requests }
  }

  it('is fetched once, and unknown keys cannot make the server fetch it all the time', async () => {
    const { url, requests } = await serve(() => ({ body: keySetOf(KEY) }))
    const { ask } = accessOf({ keys: { url } })
    for (let n = 0; n < 5; n++) {
      expect((await ask(signed(KEY, { ...CLAIMS, jti: String(n) }))).kind).toBe('allowed')
      expect((await ask(signed(rsaKey(`unknown-${n}`), CLAIMS))).kind).toBe('unauthenticated')
    }
    expect(requests()).toBe(1)
  })

  it.each([
    ['that fails', () => ({ status: 500, body: 'no' })],
    ['that is no key set', () => ({ body: '[]' })],
    ['that is too long', () => ({ body: JSON.stringify({ keys: [], pad: 'x'.repeat(2 ** 20) }) })],
    ['that leads elsewhere', () => ({ status: 302, body: '', location: 'http://127.0.0.1:1/' })],
  ])('%s lets no one in, and the operator learns of it once', async (_, answer) => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { url } = await serve(answer)
    const { ask } = accessOf({ keys: { url } })
    for (let n = 0; n < 3; n++)
      expect((await ask(signed(KEY, CLAIMS))).kind).toBe('unauthenticated')
    expect(warn.mock.calls.map(([message]) => String(message))).toEqual([
      expect.stringContaining('people cannot sign in: the key set of https://id.example.org'),
    ])
    warn.mockRestore()
  })
})
