import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { traceProgram, withSpan } from '../../../src/core/tracing/index.ts'
import { inProcess } from '../../cli/command-here.ts'
import { until } from '../../run/until.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'

/** A span as the collector got it. */
interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly service: string
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: {
      readonly attributes: readonly { readonly value: { readonly stringValue: string } }[]
    }
    readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[]
  }[]
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'

const spans: ReceivedSpan[] = []
const tokens = new Set<string | undefined>()
let collector: Server
let folder: string
let env: Record<string, string>
const processes: CommandProcess[] = []

/** Takes spans as a collector of OpenTelemetry does. */
async function startCollector(): Promise<string> {
  collector = createServer(async (request, response) => {
    let body = ''
    for await (const part of request.setEncoding('utf8')) body += part
    tokens.add(request.headers.authorization)
    const isExport = request.method === 'POST' && request.url === '/v1/traces'
    if (isExport) {
      for (const { resource, scopeSpans } of (JSON.parse(body) as ExportRequest).resourceSpans) {
        const service = resource.attributes[0]!.value.stringValue
        for (const span of scopeSpans.flatMap((one) => one.spans)) spans.push({ ...span, service })
      }
    }
    response.writeHead(isExport ? 200 : 404, { 'content-type': 'application/json' }).end('{}')
  })
  collector.listen(0, '127.0.0.1')
  await once(collector, 'listening')
  return `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
}

function start(...args: string[]): CommandProcess {
  const started = weir(args, { env })
  processes.push(started)
  return started
}

async function run(...args: string[]): Promise<void> {
  const { code, stderr } = await inProcess(args)
  expect(code, stderr).toBe(0)
}

let url: string
let queryPort: number

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-traces-'))
  env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: await startCollector(),
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector',
    OTEL_SERVICE_NAME: 'movies',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  }
  const data = ['--data-dir', join(folder, 'data')]
  const ratings = join(folder, 'u.data')
  await run('generate', 'ratings', ...['--users', '20', '--items', '10', '--output', ratings])
  const train = ['train', 'als', '--ratings', ratings, '--factors', '4', '--iterations', '1']
  await run(...train, '--threads', '0', ...data)
  await run('topic', 'create', 'observations', ...data)
  const learn = start('learn', 'als', ...data, '--port', '0', '--json', '-D', 'rest.enabled=false')
  const port = (await learn.printed(/"started","port":(\d+)/))[1]!
  queryPort = Number(port)
  await learn.printed(/"event":"learning"/)
  const run2 = ['run', 'histories', ...data, '--port', '0', '--json', '-D', 'rest.enabled=false']
  const histories = (await start(...run2).printed(/"started","port":(\d+)/))[1]!
  const gateway = start(
    ...['gateway', '--listen', '127.0.0.1:0', '--port', port, '--json', ...data],
    ...['--observations', 'observations', '--histories', `127.0.0.1:${histories}`],
  )
  url = (await gateway.printed(/"url":"([^"]+)"/))[1]!
  const isServed = async (): Promise<boolean> => (await fetch(`${url}/knownItems/1`)).status < 500
  await until('the histories are served', isServed)
})

afterAll(async () => {
  for (const process of processes) await process[Symbol.asyncDispose]()
  collector?.close()
  collector?.closeAllConnections()
  rmSync(folder, { recursive: true, force: true })
})

const traced = { traceparent: `00-${TRACE}-${CALLER}-01` }

/** The span of this trace with the name, once the collector has it. */
async function received(traceId: string, name: string): Promise<ReceivedSpan> {
  const find = () => spans.find((span) => span.traceId === traceId && span.name === name)
  await expect.poll(find, { message: name }).toBeDefined()
  return find()!
}

it('a request has spans from the gateway to the slot, below the span of its caller', async () => {
  const answer = await fetch(`${url}/knownItems/1`, { headers: traced })
  expect(answer.status).toBeLessThan(500)
  const names = ['GET /knownItems/*', 'weir.client values', 'weir.query values', 'weir.slot values']
  let parent = CALLER
  for (const name of names) {
    const span = await received(TRACE, name)
    expect([name, span.parentSpanId, span.service]).toEqual([name, parent, 'movies'])
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThan(BigInt(span.startTimeUnixNano))
    parent = span.spanId
  }
  expect(tokens).toEqual(new Set(['Bearer collector']))
})

it('a prediction from memory ends at the query thread', async () => {
  const trace = TRACE.replace('0af7', '1111')
  const headers = { traceparent: `00-${trace}-${CALLER}-01` }
  expect((await fetch(`${url}/v1/predict/1/2`, { headers })).status).toBe(200)
  const request = await received(trace, 'GET /v1/predict/:user/:item')
  const call = await received(trace, 'weir.client predict')
  const query = await received(trace, 'weir.query predict')
  expect([request.parentSpanId, call.parentSpanId, query.parentSpanId]).toEqual([
    CALLER,
    request.spanId,
    call.spanId,
  ])
})

it('a request that its caller does not sample has no spans, and one without a caller a trace of its own', async () => {
  const trace = TRACE.replace('0af7', '2222')
  const headers = { traceparent: `00-${trace}-${CALLER}-00` }
  expect((await fetch(`${url}/v1/predict/1/2`, { headers })).status).toBe(200)
  expect((await fetch(`${url}/v1/states`)).status).toBe(200)
  const own = () => spans.find(({ name }) => name === 'GET /v1/states')
  await expect.poll(own).toBeDefined()
  expect(own()!.parentSpanId).toBeUndefined()
  expect(spans.filter(({ traceId }) => traceId === trace)).toEqual([])
})

it('a program has its own span above those of its calls', async () => {
  const trace = TRACE.replace('0af7', '3333')
  await using traces = traceProgram({ ...env, OTEL_SERVICE_NAME: 'shop' })
  await using client = await WeirClient.connect({ port: queryPort, deadlineMs: 60_000 })
  const traceparent = `00-${trace}-${CALLER}-01`
  const ask = () => client.rows('ALS_MODEL', ['1-U'])
  expect(await withSpan('home page', ask, { traceparent })).toMatchObject([{ ok: true }])
  await traces[Symbol.asyncDispose]()
  const page = await received(trace, 'home page')
  const call = await received(trace, 'weir.client rows')
  const query = await received(trace, 'weir.query rows')
  expect([page.parentSpanId, call.parentSpanId, query.parentSpanId]).toEqual([
    CALLER,
    page.spanId,
    call.spanId,
  ])
  expect([page.service, query.service]).toEqual(['shop', 'movies'])
})
