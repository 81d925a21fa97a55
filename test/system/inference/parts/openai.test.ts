import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { LocalGateway } from '../../../../src/gateway/local.ts'
import { AllowedHosts } from '../../../../src/http/access/allowed-hosts.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { needs } from '../../../run/needs.ts'
import { until } from '../../../run/until.ts'
import { pythonWith } from '../../../services/python-packages.ts'
import { linearModel } from '../models.ts'

const run = promisify(execFile)
const python = await pythonWith('openai==3.57.0')

const TOKEN = 'secret-of-the-test'
const SECRET = 'secret-of-the-peer'
const KEY = 'key-of-the-peer'

let folder: string
let models: ModelsProcess
let gateway: LocalGateway
const received: { path: string; body: Record<string, unknown> }[] = []
/** The keys with which the server was asked. */
const keys = new Set<string | undefined>()
let open = 0
let peerUrl: string

/** A server of OpenAI's interface, from its documentation: what the last message says decides what it does. */
const peer = createServer((request, response) => {
  // Whether a server is there is asked now and then, without its key.
  if (request.url !== '/v2/health/live') {
    open++
    response.once('close', () => open--)
    keys.add(request.headers.authorization)
  }
  void answer(request, response)
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? ''
  if (path === '/v1/models') {
    response.end(JSON.stringify({ object: 'list', data: [{ id: 'there', object: 'model' }] }))
    return
  }
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  if (!path.startsWith('/v1/')) return void response.writeHead(404).end()
  const body = JSON.parse(text)
  received.push({ path, body })
  const word = body.prompt ?? body.messages.at(-1).content
  const head = { id: 'a', created: 1, model: body.model }
  const status = { refuse: 400, token: 401, busy: 429, fails: 500 }[word as string]
  if (status !== undefined) {
    response.writeHead(status).end(JSON.stringify({ error: { message: SECRET } }))
  } else if (word === 'no json') {
    response.end('<html>')
  } else if (body.prompt !== undefined) {
    response.end(
      JSON.stringify({
        ...head,
        object: 'text_completion',
        choices: [{ index: 0, text: 'one two', finish_reason: 'stop' }],
      }),
    )
  } else if (body.stream !== true) {
    const message = { role: 'assistant', content: 'one two' }
    response.end(
      JSON.stringify({
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
      }),
    )
  } else streamed(word, head, response)
}

function streamed(word: string, head: object, response: ServerResponse): void {
  const chunk = (content: string): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\r\n\r\n`
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const first = chunk('one ')
  // An event may come in two pieces, and a comment between two events.
  response.write(first.slice(0, 20))
  setImmediate(() => {
    response.write(`${first.slice(20)}: still there\r\n\r\n`)
    if (word === 'cut') response.end()
    else if (word === 'odd') response.end('data: 5\n\n')
    else if (word === 'error') response.end(`data: {"error": {"message": "${SECRET}"}}\n\n`)
    else if (word !== 'waits') response.end(`${chunk('two')}data: [DONE]\r\n\r\n`)
  })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-openai-'))
  const root = join(folder, 'models')
  await new Promise<void>((done) => peer.listen(0, '127.0.0.1', done))
  peerUrl = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`
  const file = join(folder, 'chat.json')
  await writeFile(file, JSON.stringify({ url: peerUrl, model: 'there', protocol: 'openai' }))
  await pushModel(nodeFileSystem, { root, name: 'chat', file })
  await writeFile(join(root, 'chat', 'deployment.yaml'), 'slo-ms: 60000\n')
  const linear = linearModel(folder, { inputs: 2, outputs: 3, factor: 2 })
  const onnx = linear.kind === 'onnx' ? linear.file : ''
  await pushModel(nodeFileSystem, { root, name: 'linear', file: onnx })
  models = await ModelsProcess.start({
    repository: root,
    port: 0,
    scanMs: 50,
    engine: openInferenceEngine({
      remoteKeys: { [peerUrl]: KEY, 'https://other.example': SECRET },
    }),
    token: TOKEN,
  })
  const hosts = AllowedHosts.parse(new URL(peerUrl).host, '--allow-remote')
  gateway = await LocalGateway.start({
    host: '127.0.0.1',
    port: 0,
    repository: root,
    version: '1.2.3',
    state: models.state,
    access: models.access,
    modelControl: { isAllowed: true, takesModules: false, hosts },
  })
})

afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]()
  await models?.[Symbol.asyncDispose]()
  peer.closeAllConnections()
  peer.close()
  await rm(folder, { recursive: true })
})

const ask = (
  path: string,
  body?: object,
  {
    token = TOKEN,
    signal,
    headers = {},
  }: {
    token?: string
    signal?: AbortSignal
    headers?: Record<string, string>
  } = {},
) =>
  fetch(`http://127.0.0.1:${gateway.port}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })

const chat = (content: string, more: object = {}) => ({
  model: 'chat',
  messages: [{ role: 'user', content }],
  ...more,
})

/** The data of the events of a streamed answer. */
async function eventsOf(content: string): Promise<string[]> {
  const answer = await ask('/v1/chat/completions', chat(content, { stream: true }))
  expect(answer.status).toBe(200)
  const events = (await answer.text()).split('\n\n').slice(0, -1)
  return events.map((event) => event.slice('data: '.length))
}

describe("OpenAI's interface", () => {
  it('relays a request with the name of the model there, and the answer with the name here', async () => {
    const answer = await ask('/v1/chat/completions', chat('count', { temperature: 0.5, seed: 7 }))
    expect(await answer.json()).toMatchObject({
      model: 'chat',
      choices: [{ message: { content: 'one two' } }],
    })
    expect(received.at(-1)).toEqual({
      path: '/v1/chat/completions',
      body: { ...chat('count'), model: 'there', temperature: 0.5, seed: 7 },
    })
  })

  it('relays a streamed answer event by event, with [DONE] at its end', async () => {
    const events = await eventsOf('count')
    expect(events.at(-1)).toBe('[DONE]')
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event))
    expect(chunks.map((one) => [one.model, one.choices[0].delta.content])).toEqual([
      ['chat', 'one '],
      ['chat', 'two'],
    ])
  })

  it.each([
    ['refuse', 400, 'INVALID_ARGUMENT'],
    ['token', 502, 'REMOTE_MODEL_FAILED'],
    ['busy', 503, 'MODEL_NOT_LOADED'],
    ['fails', 502, 'REMOTE_MODEL_FAILED'],
    ['no json', 502, 'REMOTE_MODEL_FAILED'],
  ])('answers "%s" of the server with %i, without its text', async (word, status, code) => {
    for (const stream of [false, true]) {
      const answer = await ask('/v1/chat/completions', chat(word, { stream }))
      const text = await answer.text()
      expect(answer.status).toBe(status)
      expect(JSON.parse(text)).toMatchObject({ code, error: { code } })
      expect(text).not.toContain(SECRET)
    }
  })

  it.each([
    ['cut', 'before [DONE]'],
    ['odd', 'no JSON object'],
    ['error', 'in the middle'],
  ])('ends a streamed answer that the server breaks ("%s") with an error', async (word, text) => {
    const events = await eventsOf(word)
    expect(events).toHaveLength(2)
    expect(JSON.parse(events[1]!)).toMatchObject({
      error: { code: 'REMOTE_MODEL_FAILED', message: expect.stringContaining(text) },
    })
    expect(events[1]).not.toContain(SECRET)
  })

  it('ends the request to the server when the client goes away, and at the deadline', async () => {
    const leaves = new AbortController()
    const body = chat('waits', { stream: true })
    const answer = await ask('/v1/chat/completions', body, { signal: leaves.signal })
    await answer.body!.getReader().read()
    expect(open).toBe(1)
    leaves.abort()
    await until('the server is left', () => open === 0)
    const headers = { 'weir-deadline-ms': '300' }
    const late = await ask('/v1/chat/completions', body, { headers })
    expect(await late.text()).toContain('DEADLINE_EXCEEDED')
    await until('the server is left', () => open === 0)
  })

  it('needs a token, a model that speaks it, and a body that it knows', async () => {
    expect((await ask('/v1/chat/completions', chat('count'), { token: 'wrong' })).status).toBe(401)
    for (const [body, status, code] of [
      [{ ...chat('count'), model: 'linear' }, 404, 'UNKNOWN_MODEL'],
      [{ ...chat('count'), model: 'nobody' }, 404, 'UNKNOWN_STATE'],
      [{ messages: [] }, 400, 'INVALID_ARGUMENT'],
      [chat('count', { stream: 'yes' }), 400, 'INVALID_ARGUMENT'],
    ] as const) {
      const answer = await ask('/v1/chat/completions', body)
      expect([answer.status, (await answer.json()).error.code]).toEqual([status, code])
    }
  })

  it('sends the key of the server with each request, and shows it to no one', async () => {
    await ask('/v1/chat/completions', chat('count'))
    expect([...keys]).toEqual([`Bearer ${KEY}`])
    const answers = await Promise.all([
      ask('/v1/chat/completions', chat('token')),
      ask('/v2/models/chat'),
      ask('/v2/models/chat/config'),
      ask('/v2/models/chat/stats'),
    ])
    const texts = [...answers.map((answer) => answer.text()), JSON.stringify(models.list())]
    for (const text of await Promise.all(texts)) expect(text).not.toContain(KEY)
    expect(await texts[0]).toContain('it wants a key, see --remote-keys')
  })

  it('lists the models that speak it', async () => {
    const list = await (await ask('/v1/models')).json()
    expect(list).toMatchObject({ object: 'list', data: [{ id: 'chat', object: 'model' }] })
    expect(list.data).toHaveLength(1)
    expect((await ask('/v1/models/chat')).status).toBe(200)
    expect((await ask('/v1/models/linear')).status).toBe(404)
  })

  it('is registered for a host of --allow-remote only, and refused for a model that is not there', async () => {
    const register = (name: string, url: string, model: string) =>
      ask(`/register?name=${name}&format=json`, { url, model, protocol: 'openai' })
    const other = await register('other', 'http://127.0.0.1:1', 'there')
    expect([other.status, (await other.json()).code]).toEqual([403, 'ACCESS_DENIED'])
    expect((await register('lost', peerUrl, 'lost')).status).toBe(200)
    await until('the load has failed', async () => {
      const answer = await ask('/v1/chat/completions', { ...chat('count'), model: 'lost' })
      const text = await answer.text()
      return answer.status === 503 && text.includes('does not list the model')
    })
  })

  it(
    "answers OpenAI's own client",
    needs(python !== undefined, 'PyPI has no openai here'),
    async () => {
      const script = resolve('test/system/inference/parts/openai_client.py')
      const { stdout } = await run(python!, [script, `http://127.0.0.1:${gateway.port}`, TOKEN])
      const answered = JSON.parse(stdout)
      expect(answered).toMatchObject({
        models: ['chat'],
        whole: ['chat', 'one two'],
        pieces: [
          ['chat', 'one '],
          ['chat', 'two'],
        ],
        text: 'one two',
        refused: [400, expect.stringContaining('HTTP 400')],
        unknown: [404, expect.stringContaining('nobody')],
      })
    },
  )
})
