import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { LocalGateway } from '../../../../src/gateway/local.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import type { ModelEvent } from '../../../../src/jobs/models/events.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { until } from '../../../run/until.ts'
import { freePorts } from '../../../services/free-port.ts'

const TENSORS = {
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 1] }],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 1] }],
}

let folder: string
let port: number
let server: Server | undefined
let models: ModelsProcess
let gateway: LocalGateway
const events: ModelEvent[] = []

/** A server of the protocol whose model answers 7; it has no route for its health, as some have none. */
async function startServer(): Promise<void> {
  const started = createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.url!.endsWith('/live')) return response.writeHead(404).end()
      if (!request.url!.endsWith('/infer')) return response.end(JSON.stringify(TENSORS))
      const data = Buffer.from(Float32Array.of(7).buffer)
      const output = { ...TENSORS.outputs[0], shape: [1, 1], parameters: { binary_data_size: 4 } }
      const head = Buffer.from(JSON.stringify({ outputs: [output] }))
      response.setHeader('inference-header-content-length', head.length)
      return response.end(Buffer.concat([head, data]))
    })
  })
  server = started
  await once(started.listen(port, '127.0.0.1'), 'listening')
}

async function stopServer(): Promise<void> {
  const closed = once(server!, 'close')
  server!.close()
  server!.closeAllConnections()
  await closed
  server = undefined
}

async function open(): Promise<void> {
  models = await ModelsProcess.open({
    repository: join(folder, 'models'),
    port: 0,
    engine: openInferenceEngine(),
    scanMs: 50,
    onEvent: (event) => events.push(event),
  })
  gateway = await LocalGateway.start({
    state: models.state,
    host: '127.0.0.1',
    port: 0,
    repository: join(folder, 'models'),
    access: models.access,
    modelControl: { isAllowed: false, takesModules: false, hosts: undefined as never },
    version: '1.0.0',
  })
}

async function ask(path: string, body?: string): Promise<{ status: number; text: string }> {
  const options = body === undefined ? {} : { method: 'POST', body }
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/v2${path}`, options)
  return { status: answer.status, text: await answer.text() }
}

const REQUEST = JSON.stringify({
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }],
})

const remotes = (): string[] =>
  events.flatMap((event) => (event.event === 'remote' ? [event.error.message] : []))

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-remote-'))
  events.length = 0
  port = (await freePorts(1))[0]!
  const file = join(folder, 'remote.json')
  await writeFile(file, JSON.stringify({ url: `http://127.0.0.1:${port}`, model: 'm' }))
  await pushModel(nodeFileSystem, { root: join(folder, 'models'), name: 'far', file })
})

afterEach(async () => {
  await gateway[Symbol.asyncDispose]()
  await models[Symbol.asyncDispose]()
  if (server !== undefined) await stopServer()
  await rm(folder, { recursive: true })
})

it('a server behind a remote model that stops is said within seconds, also without requests, and its model is not ready until it is back', async () => {
  await startServer()
  await open()
  await models.loaded
  expect(await ask('/health/ready')).toMatchObject({ status: 200 })
  await stopServer()
  const stoppedMs = performance.now()
  await until('it is said', () => remotes().length > 0)
  expect(performance.now() - stoppedMs).toBeLessThan(60_000)
  expect(remotes()[0]).toMatch(
    new RegExp(
      `^waiting for the model server http://127.0.0.1:${port} since [0-9:]+ UTC, for 3 s or more: .*ECONNREFUSED`,
    ),
  )
  for (const path of ['/models/far/ready', '/health/ready']) {
    expect(await ask(path)).toMatchObject({ status: 503 })
  }
  expect((await ask('/models/far/ready')).text).toContain('ECONNREFUSED')
  expect(await ask('/health/live')).toMatchObject({ status: 200 })
  await startServer()
  await until('it is said that it is back', () =>
    remotes().some((message) => message.includes('can be reached again')),
  )
  expect(await ask('/models/far/ready')).toMatchObject({ status: 200 })
  const answer = await ask('/models/far/infer', REQUEST)
  expect(JSON.parse(answer.text)).toMatchObject({ outputs: [{ data: [7] }] })
})

it('a remote model whose server comes after the process is loaded then, and its failure is reported once', async () => {
  await open()
  await models.loaded
  await until('it has failed', () => events.some(({ event }) => event === 'failed'))
  expect(await ask('/models/far/ready')).toMatchObject({ status: 503 })
  await startServer()
  await until('it answers', async () => (await ask('/models/far/infer', REQUEST)).status === 200)
  expect(events.filter(({ event }) => event === 'failed')).toHaveLength(1)
  expect(await ask('/health/ready')).toMatchObject({ status: 200 })
})
