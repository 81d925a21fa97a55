import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { RunOptions } from '../../src/gateway/port/services.ts'
import { AccessControl, shareAccess } from '../../src/http/access/control.ts'
import { tokenOf } from '../http/access/tokens.ts'
import { requestFrame } from './grpc/frames.ts'
import { openPort, RawClient } from './grpc/open-port.ts'
import { oneModel } from './one-model.ts'
import { GatewayWorld } from './world.ts'

const token = tokenOf(1)
const AUTHORIZED = { authorization: `Bearer ${token.text}` }
const INFER = JSON.stringify({
  inputs: [{ name: 'x', shape: [1], datatype: 'FP32', data: [1] }],
  parameters: { sequence_id: 'a', sequence_start: true },
})

/** Whose share the runs of a model take. */
function seenBy() {
  const seen: (string | undefined)[] = []
  const state = oneModel((_, options: RunOptions | undefined) => {
    seen.push(options?.sequence?.client ?? options?.owner?.client)
    return { name: 'y', datatype: 'FP32', shape: [1], data: new Uint8Array(4) }
  })
  return { seen, state }
}

it.each([true, false])(
  'sequences and answers in parts count in the share of the token that asks for them: hot %s',
  async (isHot) => {
    const { seen, state } = seenBy()
    const access = new AccessControl(shareAccess([token.record]), systemClock)
    const app = await new GatewayWorld().open({ state }, { access, isHot })
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address() as AddressInfo
    const post = async (path: string, body: string): Promise<void> => {
      const headers = { 'content-type': 'application/json', ...AUTHORIZED }
      const url = `http://127.0.0.1:${port}/v2/models/one/${path}`
      const answer = await fetch(url, { method: 'POST', headers, body })
      expect([answer.status, await answer.text()]).toEqual([200, expect.anything()])
    }
    await post('infer', INFER)
    await post('generate_stream', '{"x":[1]}')
    await post('generate', '{"x":[1]}')
    const { id } = token.record
    expect(seen).toEqual([id, id, id])
    await app.close()
  },
)

it('a user of this machine without a token has no share', async () => {
  const { seen, state } = seenBy()
  const app = await new GatewayWorld().open({ state })
  const url = '/v2/models/one/infer'
  expect((await app.inject({ method: 'POST', url, payload: INFER })).statusCode).toBe(200)
  const remoteAddress = '10.0.0.7'
  await app.inject({ method: 'POST', url, payload: INFER, remoteAddress })
  expect(seen).toEqual([undefined, remoteAddress])
  await app.close()
})

it('sequences over gRPC count in the share of the token', async () => {
  const { seen, state } = seenBy()
  const access = new AccessControl(shareAccess([token.record]), systemClock)
  await using port = await openPort({ access, services: { state } })
  using client = new RawClient(port.port)
  const request = requestFrame('ModelInfer', {
    model_name: 'one',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1] }],
    raw_input_contents: [Buffer.alloc(4)],
    parameters: { sequence_id: { string_param: 'a' }, sequence_start: { bool_param: true } },
  })
  expect(await client.call('ModelInfer', request, AUTHORIZED)).toMatchObject({ status: 0 })
  expect(seen).toEqual([token.record.id])
})
