import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { LocalGateway } from '../../../../src/gateway/local.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { until } from '../../../run/until.ts'
import { linearModel } from '../models.ts'
import { wordsModule } from './words-model.ts'

const TOKEN = 'secret-of-the-test'

let folder: string
let root: string
let log: string
let models: ModelsProcess
let gateway: LocalGateway
let guarded: ModelsProcess
let closed: LocalGateway

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-parts-'))
  root = join(folder, 'models')
  log = join(folder, 'ended.txt')
  await writeFile(log, '')
  const words = join(folder, 'words.mjs')
  await writeFile(words, wordsModule(log))
  await pushModel(nodeFileSystem, { root, name: 'words', file: words })
  await writeFile(join(root, 'words', 'deployment.yaml'), 'slo-ms: 60000\nstreams: 3\n')
  const linear = linearModel(folder, { inputs: 2, outputs: 3, factor: 2 })
  await pushModel(nodeFileSystem, {
    root,
    name: 'linear',
    file: linear.kind === 'onnx' ? linear.file : '',
  })
  await writeFile(join(root, 'linear', 'deployment.yaml'), 'slo-ms: 60000\n')
  const process = { repository: root, port: 0, scanMs: 50 }
  models = await ModelsProcess.start({ ...process, engine: openInferenceEngine() })
  guarded = await ModelsProcess.start({ ...process, engine: openInferenceEngine(), token: TOKEN })
  const served = { host: '127.0.0.1', port: 0, repository: root, version: '1.2.3' }
  gateway = await LocalGateway.start({ ...served, state: models.state, access: models.access })
  closed = await LocalGateway.start({ ...served, state: guarded.state, access: guarded.access })
})

afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]()
  await closed?.[Symbol.asyncDispose]()
  await models?.[Symbol.asyncDispose]()
  await guarded?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

interface Asked {
  readonly of?: LocalGateway
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

const post = (path: string, body: object, { of = gateway, headers = {}, signal }: Asked = {}) =>
  fetch(`http://127.0.0.1:${of.port}/v2/models/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })

const stream = (text_input: string, count: number, asked?: Asked) =>
  post('words/generate_stream', { text_input, count }, asked)

/** The events of an answer, as they come. */
async function* eventsOf(answer: Response): AsyncGenerator<Record<string, unknown>> {
  let text = ''
  for await (const bytes of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += bytes
    const events = text.split('\n\n')
    text = events.pop()!
    for (const event of events) yield JSON.parse(event.slice('data: '.length))
  }
}

/** All events of an answer. */
async function allOf<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const event of events) all.push(event)
  return all
}

/** The events of an answer that does not end by itself, with a deadline that leaves a busy machine time for its first part. */
function beginsBeforeDeadline(word: string): Promise<Record<string, unknown>[]> {
  let deadlineMs = 150
  return until(`an answer to "${word}" begins before its deadline`, async () => {
    deadlineMs *= 2
    const headers = { 'weir-deadline-ms': String(deadlineMs) }
    const answer = await stream(word, 5, { headers })
    return answer.status === 200 && (await allOf(eventsOf(answer)))
  })
}

const endedOf = (word: string): number =>
  readFileSync(log, 'utf8').split(`${word} ended\n`).length - 1

describe('an answer in parts over HTTP', () => {
  it('is one event for each part, in their order', async () => {
    const answer = await stream('ping', 3)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const head = { model_name: 'words', model_version: '1', text_output: 'ping' }
    expect(await allOf(eventsOf(answer))).toEqual([0, 1, 2].map((index) => ({ ...head, index })))
  })

  it('has no event where the model gives no part', async () => {
    const answer = await stream('ping', 0)
    expect([answer.status, await answer.text()]).toEqual([200, ''])
  })

  it('gives each part to the client before the model makes the next one', async () => {
    const before = endedOf('waits')
    const leaves = new AbortController()
    const answer = await stream('waits', 5, { signal: leaves.signal })
    const events = eventsOf(answer)
    expect((await events.next()).value).toMatchObject({ index: 0 })
    expect(endedOf('waits')).toBe(before)
    leaves.abort()
    await expect(events.next()).rejects.toThrow()
    await until('the model ends', () => endedOf('waits') === before + 1)
  })

  it('ends the model when the client goes away, however many parts are left', async () => {
    const before = endedOf('endless')
    const leaves = new AbortController()
    const answer = await stream('endless', 2 ** 31 - 1, { signal: leaves.signal })
    const events = eventsOf(answer)
    for (let i = 0; i < 3; i++) expect((await events.next()).value).toMatchObject({ index: i })
    leaves.abort()
    await until('the model ends', () => endedOf('endless') === before + 1)
  })

  it('has an error before the first part as its status, and a later one as its last event', async () => {
    const refused = await stream('bad', 3)
    expect(refused.status).toBe(500)
    expect(await refused.json()).toMatchObject({
      code: 'MODEL_FAILED',
      error: expect.stringContaining('this word is refused'),
    })
    const broken = await allOf(eventsOf(await stream('breaks', 5)))
    expect(broken).toHaveLength(3)
    expect(broken[2]).toMatchObject({
      code: 'MODEL_FAILED',
      error: expect.stringContaining('it broke here'),
    })
  })

  it('ends with its deadline, also in the middle', async () => {
    const events = await beginsBeforeDeadline('waits')
    expect(events[0]).toMatchObject({ index: 0 })
    expect(events[1]).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    expect(events).toHaveLength(2)
  })

  it('is refused with 503 above the limit of the settings, and accepted again after it', async () => {
    const leaves = new AbortController()
    const held = await Promise.all(
      [1, 2, 3].map(async () => {
        const events = eventsOf(await stream('waits', 5, { signal: leaves.signal }))
        await events.next()
        return events
      }),
    )
    const refused = await stream('ping', 1)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await refused.json()).toMatchObject({ code: 'OVERLOADED' })
    leaves.abort()
    await Promise.allSettled(held.map((events) => events.next()))
    await until('there is room', async () => (await stream('ping', 1)).status === 200)
  })

  it('needs the token of the port', async () => {
    const asked = { of: closed }
    expect((await stream('ping', 1, asked)).status).toBe(401)
    const headers = { authorization: `Bearer ${TOKEN}` }
    const events = eventsOf(await stream('ping', 1, { ...asked, headers }))
    expect((await events.next()).value).toMatchObject({ text_output: 'ping' })
    await events.return(undefined)
  })

  it('is refused for fields that are no input and for values of the wrong kind', async () => {
    for (const [body, wanted] of [
      [{ text_inptu: 'x', count: 1 }, 'no input is named "text_inptu"'],
      [{ text_input: 'x' }, 'input "count" 0 times'],
      [{ text_input: 5, count: 1 }, '5 is not a string'],
      [{ text_input: ['a', 'b'], count: 1 }, 'expects BYTES [1]'],
      [{ text_input: 'x', count: 1, parameters: { temprature: 1 } }, 'temprature'],
    ] as const) {
      const answer = await post('words/generate_stream', body)
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({ error: expect.stringContaining(wanted) })
    }
    expect((await post('nobody/generate_stream', {})).status).toBe(404)
  })
})

describe('a request for one answer', () => {
  it('gets the only part, and an error where there are several', async () => {
    const one = await post('words/generate', { text_input: 'ping', count: 1, id: 'a' })
    expect(await one.json()).toEqual({
      model_name: 'words',
      model_version: '1',
      id: 'a',
      text_output: 'ping',
      index: 0,
    })
    const several = await post('words/generate', { text_input: 'ping', count: 2 })
    expect(await several.json()).toMatchObject({
      error: expect.stringContaining('more than one part'),
    })
    const none = await post('words/generate', { text_input: 'ping', count: 0 })
    expect(await none.json()).toMatchObject({ error: expect.stringContaining('no part') })
  })

  it('gets the only part from infer, too', async () => {
    const inputs = (count: number) => ({
      inputs: [
        { name: 'text_input', datatype: 'BYTES', shape: [1], data: ['ping'] },
        { name: 'count', datatype: 'INT32', shape: [1], data: [count] },
      ],
    })
    expect(await (await post('words/infer', inputs(1))).json()).toMatchObject({
      outputs: [{ data: ['ping'] }, { data: [0] }],
    })
    const several = await post('words/infer', inputs(2))
    expect(await several.json()).toMatchObject({
      error: expect.stringContaining('generate_stream'),
    })
  })

  it('of a model that gives whole answers is one event of generate_stream', async () => {
    const answer = await post('linear/generate_stream', { x: [[1, 2]] })
    const events = await allOf(eventsOf(answer))
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({ model_name: 'linear', y: expect.any(Array) })
  })
})

describe('an answer in parts and the life of its model', () => {
  it('goes on while a new version takes over, and ends on the old one', async () => {
    const leaves = new AbortController()
    const events = eventsOf(await stream('waits', 2, { signal: leaves.signal }))
    expect((await events.next()).value).toMatchObject({ model_version: '1' })
    const ended = endedOf('waits')
    await pushModel(nodeFileSystem, { root, name: 'words', file: join(folder, 'words.mjs') })
    await until('the new version answers', async () => {
      const [event] = await allOf(eventsOf(await stream('ping', 1)))
      return event!['model_version'] === '2'
    })
    expect(endedOf('waits')).toBe(ended)
    leaves.abort()
    await until('the model ends', () => endedOf('waits') === ended + 1)
  })

  it('ends with an error when the server closes, which does not wait for its client', async () => {
    const served = { host: '127.0.0.1', port: 0, repository: root, version: '1.2.3' }
    const of = await LocalGateway.start({ ...served, state: models.state, access: models.access })
    const events = eventsOf(await stream('waits', 5, { of }))
    await events.next()
    await of[Symbol.asyncDispose]()
    expect((await events.next()).value).toMatchObject({ code: 'UNAVAILABLE' })
    expect((await events.next()).done).toBe(true)
  })

  it('that blocks its thread is given up, and another worker answers', async () => {
    const [first, second] = await beginsBeforeDeadline('blocks')
    expect(first).toMatchObject({ index: 0 })
    expect(second).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    await until('another worker answers', async () => {
      const answer = await stream('ping', 1, { headers: { 'weir-deadline-ms': '2000' } })
      const [event] = await allOf(eventsOf(answer)).catch(() => [])
      return event?.['text_output'] === 'ping'
    })
  })
})

/** A process whose model `relay` is the model `words` of a gateway, and its own gateway. */
async function relayOf(to: LocalGateway, name: string, remoteKeys: Record<string, string> = {}) {
  const repository = join(folder, name)
  const file = join(folder, `${name}.json`)
  const url = `http://127.0.0.1:${to.port}`
  await writeFile(file, JSON.stringify({ url, model: 'words' }))
  await pushModel(nodeFileSystem, { root: repository, name: 'relay', file })
  await writeFile(join(repository, 'relay', 'deployment.yaml'), 'slo-ms: 60000\n')
  const engine = openInferenceEngine({ remoteKeys })
  const relay = await ModelsProcess.start({ repository, port: 0, scanMs: 50, engine })
  const served = { host: '127.0.0.1', port: 0, repository, version: '1.2.3' }
  const { state, access } = relay
  const of = await LocalGateway.start({ ...served, state, access })
  return {
    of,
    async [Symbol.asyncDispose]() {
      await of[Symbol.asyncDispose]()
      await relay[Symbol.asyncDispose]()
    },
  }
}

describe('an answer in parts of a model on another server', () => {
  it('is relayed part by part, and the model there ends with the client here', async () => {
    await using relay = await relayOf(gateway, 'relays')
    const { of } = relay
    const asked = (text_input: string, count: number, signal?: AbortSignal) =>
      post('relay/generate_stream', { text_input, count }, { of, ...(signal && { signal }) })
    const events = await allOf(eventsOf(await asked('ping', 3)))
    const head = { model_name: 'relay', model_version: '1', text_output: 'ping' }
    expect(events).toEqual([0, 1, 2].map((index) => ({ ...head, index })))
    const before = endedOf('waits')
    const leaves = new AbortController()
    const waiting = eventsOf(await asked('waits', 5, leaves.signal))
    expect((await waiting.next()).value).toMatchObject({ index: 0 })
    leaves.abort()
    await until('the model there ends', () => endedOf('waits') === before + 1)
    const config = await fetch(`http://127.0.0.1:${of.port}/v2/models/relay/config`)
    expect(await config.json()).toMatchObject({ model_transaction_policy: { decoupled: true } })
  })

  it('needs the key that the operator names for that server', async () => {
    await using without = await relayOf(closed, 'keyless')
    const refused = await post('relay/generate_stream', {}, without)
    expect(refused.status).toBe(503)
    expect(await refused.text()).toContain('HTTP 401: it wants a key, see --remote-keys')
    const keys = { [`http://127.0.0.1:${closed.port}`]: TOKEN }
    await using relay = await relayOf(closed, 'keyed', keys)
    const body = { text_input: 'ping', count: 2 }
    const events = await allOf(eventsOf(await post('relay/generate_stream', body, relay)))
    expect(events.map(({ index }) => index)).toEqual([0, 1])
  })
})
