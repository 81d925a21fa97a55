import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WeirClient } from '../../src/client/weir-client.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { measureThroughput, type Throughput } from '../load/generator.ts'
import { pythonProgram } from '../rivals/python.ts'
import { ChildServer } from '../served/child-server.ts'
import { COMMAND, startModels, startModelsOverHttp, writeRepository } from './linear-repository.ts'
import {
  binaryRequest,
  CONNECTIONS,
  jsonRequest,
  overHttp,
  plainJsonRequest,
  quantile,
  rawRequest,
  values,
} from './linear-requests.ts'

const SECONDS = 5
const FASTAPI = 'FastAPI with ONNX Runtime'
const RIVAL = fileURLToPath(new URL('../rivals/fastapi_linear.py', import.meta.url))

/** What FastAPI does with the same floats. */
interface FastApi {
  readonly bytes: Throughput
  readonly json: Throughput
}

/** FastAPI with ONNX Runtime, as most people write it; undefined where it is not installed. */
async function fastApi(
  file: string,
  seconds: number,
  say: (line: string) => void,
): Promise<FastApi | undefined> {
  try {
    await using rival = await ChildServer.start([RIVAL, file], Number, pythonProgram())
    const bytes = await overHttp(rival.port, rawRequest('/bytes'), seconds)
    return { bytes, json: await overHttp(rival.port, plainJsonRequest(), seconds) }
  } catch (error) {
    say(`no rival: ${String(error)} (pip install fastapi uvicorn onnxruntime numpy)`)
    return undefined
  }
}

/** The figures over TCP, and over HTTP through a gateway in a third process. */
async function overTcp(repository: string, seconds: number): Promise<Figure[]> {
  await using models = await startModels(repository)
  await using client = await WeirClient.connect({ port: models.port, deadlineMs: 10_000 })
  const ask = (model: string, data: Float32Array) => () =>
    client.infer(model, [{ name: 'x', shape: [1, data.length], data }])
  const measured = async (model: string, data: Float32Array, outstanding: number) => {
    await measureThroughput(ask(model, data), outstanding, seconds * 0.4)
    return await measureThroughput(ask(model, data), outstanding, seconds)
  }
  const noop = await measured('noop', Float32Array.of(1), 1)
  const linear = await measured('linear', values(), 256)
  const words = ['gateway', '--json', '--listen', '127.0.0.1:0', '--port', String(models.port)]
  await using gateway = await ChildServer.start(
    [COMMAND, ...words],
    (line) => (JSON.parse(line) as { port: number }).port,
  )
  const throughGateway = await overHttp(gateway.port, binaryRequest(), seconds)
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
      name: 'infer-linear-gateway',
      value: throughGateway.perSecond,
      unit: 'answers/s',
      details: { p99Ms: quantile(throughGateway, 0.99), connections: CONNECTIONS },
    },
  ]
}

/** `infer-served`: the models of `weir run models` over TCP and HTTP, each process on its own. */
export const inferServedBenchmark: Benchmark = {
  name: 'infer-served',
  summary: '"weir run models" over TCP and HTTP: one float, and 784 floats as bytes and as JSON',
  async run({ scratch, scale, say }) {
    const seconds = SECONDS * scale
    const repository = join(scratch, 'models')
    const file = writeRepository(repository, scratch)
    const tcp = await overTcp(repository, seconds)
    await using models = await startModelsOverHttp(repository)
    const binary = await overHttp(models.port, binaryRequest(), seconds)
    const json = await overHttp(models.port, jsonRequest(), seconds)
    models.pause()
    const rival = await fastApi(file, seconds, say)
    models.resume()
    return [
      ...tcp,
      {
        ...figureOf('infer-linear-http', binary, rival?.bytes),
        target: 12_000,
        rivalName: `${FASTAPI}, raw bytes`,
        details: { ...detailsOf(binary), ...ofJson(binary, rival?.json) },
      },
      {
        ...figureOf('infer-linear-http-json', json, rival?.json),
        rivalName: `${FASTAPI}, JSON`,
      },
    ]
  },
}

function figureOf(name: string, own: Throughput, rival: Throughput | undefined): Figure {
  return {
    name,
    value: own.perSecond,
    unit: 'answers/s',
    targetRatio: 8,
    ...(rival === undefined ? {} : { rival: rival.perSecond }),
    details: detailsOf(own),
  }
}

const detailsOf = (own: Throughput): Readonly<Record<string, number>> => ({
  p99Ms: quantile(own, 0.99),
  connections: CONNECTIONS,
})

/** Tensors as bytes beside FastAPI with JSON: what each has in its first example. */
const ofJson = (
  own: Throughput,
  rival: Throughput | undefined,
): Readonly<Record<string, number>> =>
  rival === undefined ? {} : { ofFastApiWithJson: own.perSecond / rival.perSecond }
