import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { WeirError } from '../../../src/core/errors.ts'
import type { ModelControl } from '../../../src/gateway/port/model-control.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import type { UnfinishedView } from '../../../src/models/registry/unfinished.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { GatewayWorld } from '../world.ts'

const reader = tokenOf(1)
const writer = tokenOf(2, { role: 'write' })
const admin = tokenOf(3, { role: 'admin' })

/** What a killed publisher has left. */
const LEFT: UnfinishedView = {
  ...{ name: 'als-model', number: 2, state: 'incomplete', rows: 7, bytes: 90, atMs: 5 },
  publisher: 'here/7-1/1',
}

/** A gateway over a model that only records what is asked of it. */
async function open() {
  const calls: string[] = []
  const models: ModelControl = {
    model: 'als-model',
    versions: async () => ({
      model: 'als-model',
      live: 1,
      rollback: 0,
      revision: 4,
      versions: [{ number: 1, id: 'a1', state: 'live' } as never],
      unfinished: [LEFT],
    }),
    promote: async (version, options) => {
      calls.push(`promote ${version} ${JSON.stringify(options)}`)
      if (version === '3') throw new WeirError('PROMOTION_REFUSED', 'a check failed')
      if (version === '9') throw new WeirError('UNKNOWN_VERSION', 'there is no version "9"')
      if (options.expectLive === 7)
        throw new WeirError('REGISTRY_CONFLICT', 'version 1 is live now')
      return { model: 'als-model', live: 2, before: 1, how: options.force ? 'forced' : 'promoted' }
    },
    rollBack: async (options) => {
      calls.push(`rollback ${JSON.stringify(options)}`)
      if (options.reason === 'none') throw new WeirError('ILLEGAL_STATE', 'no version was live')
      return { model: 'als-model', live: 1, before: 2, how: 'rolled back' }
    },
  }
  const records = [reader, writer, admin].map(({ record }) => record)
  const access = new AccessControl(shareAccess(records), systemClock)
  const app = await new GatewayWorld().open({ models }, { access })
  const ask = async (
    method: 'GET' | 'POST',
    path: string,
    token: { readonly text: string },
    payload?: object,
  ) => {
    const headers = { authorization: `Bearer ${token.text}` }
    const answer = await app.inject({
      method,
      url: `/v1/models/${path}`,
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
    return { status: answer.statusCode, body: answer.json() }
  }
  return { ask, calls, app }
}

describe('the versions of a model over HTTP', () => {
  it('are listed for the role read', async () => {
    const { ask } = await open()
    expect(await ask('GET', 'versions', reader)).toEqual({
      status: 200,
      body: {
        model: 'als-model',
        live: 1,
        rollback: 0,
        revision: 4,
        versions: [{ number: 1, id: 'a1', state: 'live' }],
        unfinished: [LEFT],
      },
    })
  })

  it('are changed for the role admin only', async () => {
    const { ask, calls } = await open()
    for (const token of [reader, writer]) {
      expect((await ask('POST', 'versions/2/promote', token, {})).status).toBe(403)
      expect((await ask('POST', 'rollback', token, {})).status).toBe(403)
    }
    expect(calls).toEqual([])
    expect(await ask('POST', 'versions/2/promote', admin)).toEqual({
      status: 200,
      body: { model: 'als-model', live: 2, before: 1, how: 'promoted' },
    })
    const forced = { expectLive: 1, force: 'urgent' }
    expect((await ask('POST', 'versions/latest/promote', admin, forced)).body.how).toBe('forced')
    expect((await ask('POST', 'rollback', admin, { reason: 'worse' })).body.live).toBe(1)
    expect(calls).toEqual([
      'promote 2 {}',
      'promote latest {"expectLive":1,"force":"urgent"}',
      'rollback {"reason":"worse"}',
    ])
  })

  it.each([
    ['versions/3/promote', {}, 409, 'PROMOTION_REFUSED'],
    ['versions/9/promote', {}, 404, 'UNKNOWN_VERSION'],
    ['versions/2/promote', { expectLive: 7 }, 409, 'REGISTRY_CONFLICT'],
    ['versions/2/promote', { because: 'x' }, 400, undefined],
    ['rollback', { reason: 'none' }, 409, 'ILLEGAL_STATE'],
    ['rollback', { expectLive: '2' }, 400, undefined],
  ])('refuse POST %s %j with %i', async (path, payload, status, code) => {
    const { ask } = await open()
    const answer = await ask('POST', path, admin, payload)
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    if (code !== undefined) expect(answer.body).toMatchObject({ code, status })
  })

  it('are in the OpenAPI document', async () => {
    const { app } = await open()
    const pathsOf = async (one: typeof app) =>
      Object.keys(
        (
          await one.inject({
            url: '/openapi.json',
            headers: { authorization: `Bearer ${reader.text}` },
          })
        ).json().paths,
      )
    expect(await pathsOf(app)).toEqual(
      expect.arrayContaining(['/v1/models/versions', '/v1/models/versions/{version}/promote']),
    )
  })

  it.each([
    ['GET', 'versions'],
    ['POST', 'versions/2/promote'],
    ['POST', 'rollback'],
  ] as const)('say what to do where the gateway has no model: %s %s', async (method, path) => {
    const app = await new GatewayWorld().open()
    const answer = await app.inject({ method, url: `/v1/models/${path}` })
    expect(answer.headers['content-type']).toContain('application/problem+json')
    expect(answer.json()).toMatchObject({
      type: 'urn:weir:error:UNSUPPORTED',
      status: 501,
      detail: expect.stringContaining('weir gateway --model NAME'),
    })
    expect(answer.statusCode).toBe(501)
  })
})
