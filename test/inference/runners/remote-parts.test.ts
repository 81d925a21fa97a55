import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../../src/inference/port/runner.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { loadRemote } from '../../../src/inference/runners/remote.ts'
import { rawOfJson } from '../../../src/wire/inference/json-tensor.ts'

/*
 * A server as Triton's documents describe one: `model_transaction_policy` in the configuration, and `generate_stream` with
 * an event for each part, whose fields are elements without shapes.
 */

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

interface Peer {
  readonly outputs: readonly { name: string; datatype: string; shape: number[] }[]
  readonly maxBatch?: number
  readonly answer: (body: Record<string, unknown>, response: ServerResponse) => void
}

const bodies: string[] = []

/** The model of a server, with the inputs `text_input` BYTES and `big` INT64. */
async function modelOf({ outputs, maxBatch = 0, answer }: Peer): Promise<LoadedModel> {
  const inputs = [
    { name: 'text_input', datatype: 'BYTES', shape: maxBatch > 0 ? [-1, 1] : [-1] },
    { name: 'big', datatype: 'INT64', shape: [-1, 2] },
  ]
  const config = {
    max_batch_size: maxBatch,
    model_transaction_policy: { decoupled: true },
  }
  const reply = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url!
    if (path === '/v2/models/words')
      response.end(JSON.stringify({ name: 'words', inputs, outputs }))
    else if (path === '/v2/models/words/config') response.end(JSON.stringify(config))
    else if (path === '/v2/models/words/generate_stream') {
      let text = ''
      for await (const piece of request.setEncoding('utf8')) text += piece
      bodies.push(text)
      answer(JSON.parse(text), response)
    } else response.writeHead(404).end()
  }
  const server = createServer((request, response) => void reply(request, response))
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const model = await loadRemote({ kind: 'remote', url, model: 'words' }, { threads: 1 })
  closers.push(() => void model.close())
  return model
}

const TEXT = { name: 'text_output', datatype: 'BYTES', shape: [-1] }
const INPUTS = [
  rawOfJson({ name: 'text_input', datatype: 'BYTES', shape: [1], data: ['ping'] }),
  rawOfJson({ name: 'big', datatype: 'INT64', shape: [1, 2], data: [9007199254740993n, -1] }),
]

const events =
  (...parts: unknown[]) =>
  (_: unknown, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const part of parts) response.write(`data: ${JSON.stringify(part)}\n\n`)
    response.end()
  }

/** The parts of an answer. */
async function partsOf(model: LoadedModel): Promise<(readonly Tensor[])[]> {
  const parts: (readonly Tensor[])[] = []
  for await (const part of model.parts!(INPUTS, new AbortController().signal)) parts.push(part)
  return parts
}

const text = (value: string) => rawOfJson({ ...TEXT, datatype: 'BYTES', shape: [1], data: [value] })

describe('a model of another server that answers in parts', () => {
  it('is asked with its inputs as fields, and gives each event as a part', async () => {
    const model = await modelOf({
      outputs: [TEXT],
      answer: events({ text_output: 'one', model_name: 'words' }, { text_output: 'two' }),
    })
    expect(model.signature).toMatchObject({ parts: true, alone: 'it answers in parts' })
    expect(await partsOf(model)).toEqual([[text('one')], [text('two')]])
    // Whole numbers of 64 bits keep all their digits.
    expect(bodies.at(-1)).toBe('{"text_input":"ping","big":[[9007199254740993,-1]]}')
  })

  it('has the shape of each part from the one size that is free', async () => {
    const outputs = [
      { name: 'scores', datatype: 'FP32', shape: [-1, 2] },
      { name: 'ids', datatype: 'INT64', shape: [2] },
    ]
    const answer = events({ scores: [1, 2, 'NaN', 4], ids: [1, 2] }, { scores: [], ids: [3, 4] })
    const [first, second] = await partsOf(await modelOf({ outputs, answer }))
    expect(first!.map(({ shape }) => shape)).toEqual([[2, 2], [2]])
    expect([...new Float32Array(first![0]!.data.slice().buffer)]).toEqual([1, 2, NaN, 4])
    expect(second!.map(({ shape }) => shape)).toEqual([[0, 2], [2]])
  })

  it('has one item where the server adds an axis for the batch', async () => {
    const outputs = [{ name: 'scores', datatype: 'FP32', shape: [-1, -1] }]
    const model = await modelOf({ outputs, maxBatch: 8, answer: events({ scores: [1, 2, 3] }) })
    expect((await partsOf(model))[0]![0]!.shape).toEqual([1, 3])
  })

  it('is refused where the elements of an output could have several shapes', async () => {
    const outputs = [{ name: 'scores', datatype: 'FP32', shape: [-1, -1] }]
    const loading = modelOf({ outputs, answer: events() })
    await expect(loading).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('"scores" of the shape [-1, -1]'),
    })
  })

  it.each([
    ['an output that is missing', { model_name: 'words' }, 'without "text_output"'],
    ['a value of another type', { text_output: 5 }, 'not what it promised'],
    ['too many elements', { text_output: 'a', fixed: [1, 2, 3] }, 'not what it promised'],
    ['an error', { error: 'SECRET' }, 'an error in the middle'],
  ])('is to blame for %s', async (_, part, message) => {
    const isFixed = 'fixed' in part
    const outputs = isFixed ? [TEXT, { name: 'fixed', datatype: 'FP32', shape: [2] }] : [TEXT]
    const error = await partsOf(await modelOf({ outputs, answer: events(part) })).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({ code: 'REMOTE_MODEL_FAILED' })
    expect(String(error)).toContain(message)
    expect(String(error)).not.toContain('SECRET')
  })

  it.each([
    [400, 'INVALID_ARGUMENT'],
    [401, 'REMOTE_MODEL_FAILED'],
    [503, 'MODEL_NOT_LOADED'],
    [500, 'REMOTE_MODEL_FAILED'],
  ])('answers HTTP %i of the server with %s', async (status, code) => {
    const answer = (_: unknown, response: ServerResponse) =>
      response.writeHead(status).end('SECRET')
    await expect(partsOf(await modelOf({ outputs: [TEXT], answer }))).rejects.toMatchObject({
      code,
      message: expect.not.stringContaining('SECRET'),
    })
  })

  it('that ends in the middle of a part has failed, and is left when its client goes', async () => {
    const cut = (_: unknown, response: ServerResponse): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('data: {"text_output": "on')
    }
    await expect(partsOf(await modelOf({ outputs: [TEXT], answer: cut }))).rejects.toThrow(
      'in the middle of an event',
    )
    const left = Promise.withResolvers<void>()
    const endless = (_: unknown, response: ServerResponse): void => {
      response.once('close', () => left.resolve())
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"text_output": "one"}\n\n')
    }
    const model = await modelOf({ outputs: [TEXT], answer: endless })
    for await (const part of model.parts!(INPUTS, new AbortController().signal)) {
      expect(part).toEqual([text('one')])
      break
    }
    await left.promise
  })
})
