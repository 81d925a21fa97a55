import type { FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
import { GatewayWorld } from '../world.ts'

const INPUTS = [
  { name: 'user', datatype: 'BYTES', shape: [2], data: ['1', 'nobody'] },
  { name: 'item', datatype: 'BYTES', shape: [1], data: ['50'] },
]

async function infer(app: FastifyInstance, payload: object | Buffer, headers = {}) {
  const url = '/v2/models/ALS_MODEL/infer'
  return await app.inject({ method: 'POST', url, payload, headers })
}

/** A body of JSON with binary tensors after it. */
function binaryBody(json: object, ...tensors: readonly Buffer[]) {
  const head = Buffer.from(JSON.stringify(json))
  return {
    payload: Buffer.concat([head, ...tensors]),
    headers: { 'inference-header-content-length': String(head.length) },
  }
}

function bytesTensor(...texts: readonly string[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text) => {
      const length = Buffer.alloc(4)
      length.writeUInt32LE(Buffer.byteLength(text))
      return [length, Buffer.from(text)]
    }),
  )
}

describe('inference over the Open Inference Protocol', () => {
  it('scores a batch of pairs; one item goes with all users', async () => {
    const app = await new GatewayWorld().open()
    const answer = await infer(app, { id: 'a1', inputs: INPUTS })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({
      model_name: 'ALS_MODEL',
      model_version: '1',
      id: 'a1',
      outputs: [
        { name: 'score', datatype: 'FP32', shape: [2], data: [10, 1] },
        { name: 'user_cold', datatype: 'BOOL', shape: [2], data: [false, true] },
        { name: 'item_cold', datatype: 'BOOL', shape: [2], data: [false, false] },
      ],
    })
  })

  it('takes binary tensors and gives them where they are wanted', async () => {
    const app = await new GatewayWorld().open()
    const users = bytesTensor('1', 'nobody')
    const items = bytesTensor('50', '50')
    const { payload, headers } = binaryBody(
      {
        inputs: [
          {
            name: 'user',
            datatype: 'BYTES',
            shape: [2, 1],
            parameters: { binary_data_size: users.length },
          },
          {
            name: 'item',
            datatype: 'BYTES',
            shape: [2, 1],
            parameters: { binary_data_size: items.length },
          },
        ],
        outputs: [{ name: 'user_cold' }, { name: 'score', parameters: { binary_data: true } }],
      },
      users,
      items,
    )
    const answer = await infer(app, payload, headers)
    const length = Number(answer.headers['inference-header-content-length'])
    expect(JSON.parse(answer.rawPayload.toString('utf8', 0, length))).toMatchObject({
      outputs: [
        { name: 'user_cold', shape: [2, 1], data: [false, true] },
        { name: 'score', shape: [2, 1], parameters: { binary_data_size: 8 } },
      ],
    })
    expect(answer.rawPayload.readFloatLE(length)).toBe(10)
    expect(answer.rawPayload.readFloatLE(length + 4)).toBe(1)
  })

  it('answers sparse examples of a linear model, the examples marked by their starts', async () => {
    const world = new GatewayWorld()
    const app = await world.open()
    const payload = {
      inputs: [
        { name: 'index', datatype: 'INT64', shape: [3], data: [3, 7, 7] },
        { name: 'value', datatype: 'FP32', shape: [3], data: [1, 2, 0.5] },
        { name: 'start', datatype: 'INT64', shape: [2], data: [0, 2] },
      ],
    }
    const url = '/v2/models/SVM_MODEL/infer'
    const answer = await app.inject({ method: 'POST', url, payload })
    expect(answer.json()).toMatchObject({
      outputs: [
        { name: 'decision', datatype: 'FP64', data: [17, 3.5] },
        { name: 'label', data: [1, 1] },
        { name: 'unknown', data: [0, 0] },
      ],
    })
    expect(world.examples).toEqual([
      { ids: [3, 7], values: [1, 2] },
      { ids: [7], values: [0.5] },
    ])
  })

  it.each<[string, object]>([
    [
      'an unknown input',
      { inputs: [...INPUTS, { name: 'x', datatype: 'BYTES', shape: [1], data: ['1'] }] },
    ],
    ['a missing input', { inputs: INPUTS.slice(1) }],
    ['an input given twice', { inputs: [...INPUTS, INPUTS[0]] }],
    ['another datatype', { inputs: [{ ...INPUTS[0], datatype: 'FP32', data: [1, 2] }, INPUTS[1]] }],
    ['data of another size', { inputs: [{ ...INPUTS[0], shape: [3] }, INPUTS[1]] }],
    ['a shape that is none', { inputs: [{ ...INPUTS[0], shape: [-1] }, INPUTS[1]] }],
    ['a shape of too many elements', { inputs: [{ ...INPUTS[0], shape: [2 ** 40] }, INPUTS[1]] }],
    ['an element of another type', { inputs: [{ ...INPUTS[0], data: [1, 2] }, INPUTS[1]] }],
    ['an unknown output', { inputs: INPUTS, outputs: [{ name: 'x' }] }],
    ['no inputs', {}],
    ['inputs that are no list', { inputs: { name: 'user' } }],
  ])('refuses %s', async (_, payload) => {
    const app = await new GatewayWorld().open()
    const answer = await infer(app, payload)
    expect(answer.statusCode).toBe(400)
    const problem = answer.json<{ code: string; detail: string; error: string }>()
    expect(problem.code).toBe('INVALID_ARGUMENT')
    expect(problem.error).toBe(problem.detail)
  })

  it.each<[string, Buffer, string]>([
    ['a length of JSON behind the body', Buffer.from('{}'), '3'],
    ['a length that is no number', Buffer.from('{}'), 'x'],
    ['JSON that is cut', Buffer.from('{"inputs": []}'), '5'],
  ])('refuses %s', async (_, payload, length) => {
    const app = await new GatewayWorld().open()
    const answer = await infer(app, payload, { 'inference-header-content-length': length })
    expect(answer.statusCode).toBe(400)
  })

  it('refuses a request without a body', async () => {
    const app = await new GatewayWorld().open()
    const url = '/v2/models/ALS_MODEL/infer'
    expect((await app.inject({ method: 'POST', url })).statusCode).toBe(400)
  })

  it('refuses strings that end behind the tensor', async () => {
    const app = await new GatewayWorld().open()
    const broken = bytesTensor('1', 'nobody')
    broken.writeUInt32LE(4_000_000_000, 0)
    const size = { parameters: { binary_data_size: broken.length } }
    const { payload, headers } = binaryBody(
      { inputs: [{ name: 'user', datatype: 'BYTES', shape: [2], ...size }, INPUTS[1]!] },
      broken,
    )
    expect((await infer(app, payload, headers)).statusCode).toBe(400)
  })

  it('answers from the version in the path', async () => {
    const app = await new GatewayWorld().open()
    const post = async (version: string) =>
      await app.inject({
        method: 'POST',
        url: `/v2/models/ALS_MODEL/versions/${version}/infer`,
        payload: { inputs: INPUTS },
      })
    expect((await post('1')).json()).toMatchObject({ model_version: '1' })
    expect((await post('9')).statusCode).toBe(404)
    expect((await post('latest')).statusCode).toBe(400)
  })
})

describe('the models of a gateway', () => {
  it('have metadata, configuration and readiness', async () => {
    const app = await new GatewayWorld().open()
    const get = async (path: string) => (await app.inject(path)).json<unknown>()
    expect(await get('/v2')).toMatchObject({ name: 'weir', version: '1.2.3' })
    expect(await get('/v2/models/ALS_MODEL')).toMatchObject({
      name: 'ALS_MODEL',
      versions: ['1'],
      inputs: [{ name: 'user', datatype: 'BYTES', shape: [-1] }, { name: 'item' }],
    })
    expect(await get('/v2/models/ALS_MODEL/config')).toMatchObject({
      input: [{ name: 'user', data_type: 'TYPE_STRING' }, { name: 'item' }],
    })
    expect(await get('/v2/models/ALS_MODEL/ready')).toEqual({ name: 'ALS_MODEL', ready: true })
    expect(await get('/v2/models/nope')).toMatchObject({ status: 404, error: expect.any(String) })
  })

  it('are in the index of the repository, and are not loaded over the protocol', async () => {
    const app = await new GatewayWorld().open({ modelControl: {} })
    const index = await app.inject({ method: 'POST', url: '/v2/repository/index' })
    expect(index.json()).toContainEqual({
      name: 'ALS_MODEL',
      version: '1',
      state: 'READY',
      reason: 'live',
    })
    const load = await app.inject({ method: 'POST', url: '/v2/repository/models/ALS_MODEL/load' })
    expect(load.statusCode).toBe(501)
    expect(load.json<{ error: string }>().error).toContain('weir model load')
  })

  it('count requests and items by version', async () => {
    const app = await new GatewayWorld().open()
    await infer(app, { inputs: INPUTS })
    await infer(app, { inputs: [] })
    const stats = (await app.inject('/v2/models/ALS_MODEL/stats')).json()
    expect(stats).toMatchObject({
      model_stats: [
        {
          version: '1',
          inference_count: 2,
          execution_count: 1,
          inference_stats: { success: { count: 1 }, fail: { count: 1 } },
        },
      ],
    })
  })
})
