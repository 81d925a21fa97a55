import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WeirClient } from '../../src/client/weir-client.ts'
import { requestWriter } from '../../src/load/http/request.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { measureThroughput, type Throughput } from '../load/generator.ts'
import { HttpConnections } from '../load/http-connections.ts'
import { pythonProgram } from '../rivals/python.ts'
import { ChildServer } from '../served/child-server.ts'
import { matrixModel } from './engine.ts'
import { percentile } from './serving.ts'

const SECONDS = 5
const CONNECTIONS = 64
const COMMAND = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const RIVAL = fileURLToPath(new URL('../rivals/fastapi_linear.py', import.meta.url))
const SETTINGS = 'slo-ms: 10000\nmax-batch: 128\nqueue-capacity: 1024\n'

/** Writes a repository with a model of one float and one of 784 floats; returns the file of the second. */
function writeRepository(folder: string, scratch: string): string {
  const models = { noop: matrixModel(scratch, 1, 1), linear: matrixModel(scratch, 784, 10) }
  for (const [name, { file }] of Object.entries(models)) {
    mkdirSync(join(folder, name, '1'), { recursive: true })
    cpSync(file, join(folder, name, '1', 'model.onnx'))
    writeFileSync(join(folder, name, 'deployment.yaml'), SETTINGS)
  }
  return models.linear.file
}

function startModels(repository: string): Promise<ChildServer> {
  const words = ['run', 'models', '--json', '--repository', repository, '--port', '0']
  return ChildServer.start([COMMAND, ...words], (line) => {
    const event = JSON.parse(line) as { event: string; port?: number }
    return event.event === 'started' ? event.port : undefined
  })
}

/** Connections that send the same bytes again and again to a path. */
async function overHttp(port: number, request: string, seconds: number): Promise<Throughput> {
  using connections = new HttpConnections(port, CONNECTIONS)
  await measureThroughput(() => connections.ask(request), CONNECTIONS, seconds * 0.4)
  return await measureThroughput(() => connections.ask(request), CONNECTIONS, seconds)
}

/** A request of the Open Inference Protocol with its tensor as bytes. */
function binaryRequest(values: Float32Array<ArrayBuffer>): string {
  const head = JSON.stringify({
    inputs: [
      {
        name: 'x',
        datatype: 'FP32',
        shape: [1, values.length],
        parameters: { binary_data_size: values.byteLength },
      },
    ],
    parameters: { binary_data_output: true },
  })
  const write = requestWriter({
    method: 'POST',
    host: 'localhost',
    headers: {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': String(head.length),
    },
  })
  return write('/v2/models/linear/infer', head + asText(values))
}

/** The bytes as a text, for floats whose bytes are all below 128. */
const asText = (values: Float32Array<ArrayBuffer>): string =>
  Buffer.from(values.buffer).toString('latin1')

/** FastAPI with ONNX Runtime, as most people write it, on the same bytes; undefined where it is not installed. */
async function fastApi(
  file: string,
  values: Float32Array<ArrayBuffer>,
  seconds: number,
  say: (line: string) => void,
): Promise<Throughput | undefined> {
  try {
    await using rival = await ChildServer.start([RIVAL, file], Number, pythonProgram())
    const write = requestWriter({
      method: 'POST',
      host: 'localhost',
      headers: { 'content-type': 'application/octet-stream' },
    })
    return await overHttp(rival.port, write('/infer', asText(values)), seconds)
  } catch (error) {
    say(`no rival: ${String(error)} (pip install fastapi uvicorn onnxruntime numpy)`)
    return undefined
  }
}

/** `infer-served`: the models of `weir run models` over TCP and HTTP, each process on its own. */
export const inferServedBenchmark: Benchmark = {
  name: 'infer-served',
  summary: '"weir run models" over TCP and through the gateway: one float, and 784 floats',
  async run({ scratch, scale, say }) {
    const seconds = SECONDS * scale
    const repository = join(scratch, 'models')
    const file = writeRepository(repository, scratch)
    const values = new Float32Array(784).fill(0.5)
    await using models = await startModels(repository)
    await using client = await WeirClient.connect({ port: models.port, deadlineMs: 10_000 })
    const ask = (model: string, data: Float32Array) => () =>
      client.infer(model, [{ name: 'x', shape: [1, data.length], data }])
    const measured = async (model: string, data: Float32Array, outstanding: number) => {
      await measureThroughput(ask(model, data), outstanding, seconds * 0.4)
      return await measureThroughput(ask(model, data), outstanding, seconds)
    }
    const noop = await measured('noop', Float32Array.of(1), 1)
    const linear = await measured('linear', values, 256)
    const words = ['gateway', '--json', '--listen', '127.0.0.1:0', '--port', String(models.port)]
    const gateway = await ChildServer.start(
      [COMMAND, ...words],
      (line) => (JSON.parse(line) as { port: number }).port,
    )
    const http = await overHttp(gateway.port, binaryRequest(values), seconds)
    await gateway[Symbol.asyncDispose]()
    models.pause()
    const rival = await fastApi(file, values, seconds, say)
    models.resume()
    return [
      {
        name: 'infer-noop-tcp',
        value: quantile(noop, 0.5),
        unit: 'ms p50',
        target: 0.25,
        higher: false,
        details: { p99: quantile(noop, 0.99) },
      },
      {
        name: 'infer-linear-tcp',
        value: linear.perSecond,
        unit: 'answers/s',
        target: 30_000,
        details: { p99Ms: quantile(linear, 0.99), outstanding: 256 },
      },
      {
        name: 'infer-linear-http',
        value: http.perSecond,
        unit: 'answers/s',
        target: 12_000,
        ...rivalOf(rival),
        details: { p99Ms: quantile(http, 0.99), connections: CONNECTIONS },
      },
    ]
  },
}

function rivalOf(rival: Throughput | undefined): Partial<Figure> {
  if (rival === undefined) return {}
  return { rival: rival.perSecond, rivalName: 'FastAPI with ONNX Runtime', targetRatio: 8 }
}

const quantile = ({ sampledMs }: Throughput, share: number): number =>
  percentile(
    sampledMs.toSorted((a, b) => a - b),
    share,
  )
