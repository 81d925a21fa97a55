import { join } from 'node:path'
import { credentials, makeGenericClientConstructor } from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { SCHEMA, SERVICE } from '../../src/gateway/grpc/schema.ts'
import { requestWriter } from '../../src/testing/load/http/request.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { measureSequential, measureThroughput } from '../load/generator.ts'
import { HttpConnections } from '../load/http-connections.ts'
import { ChildServer } from '../served/child-server.ts'
import { startModelsOverGrpc, writeRepository } from './linear-repository.ts'
import { binaryRequest, CONNECTIONS, overHttp, values } from './linear-requests.ts'
import { percentile } from './serving.ts'

const EMPTY_SERVER = join(import.meta.dirname, 'empty-grpc-process.ts')
const SECONDS = 5
const CALLS = 4000
const ONE = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }] })

/** Calls of ModelInfer with the same floats, over so many connections. */
function callsOf(port: number, model: string, floats: Float32Array<ArrayBuffer>, count: number) {
  const service = fromJSON(SCHEMA, { longs: String })[SERVICE] as never
  const Client = makeGenericClientConstructor(service, SERVICE)
  const clients = Array.from({ length: count }, () => {
    // Clients of one process share a connection, unless they say that they do not.
    const options = { 'grpc.use_local_subchannel_pool': 1 }
    return new Client(`127.0.0.1:${port}`, credentials.createInsecure(), options)
  })
  const message = {
    model_name: model,
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, floats.length] }],
    raw_input_contents: [Buffer.from(floats.buffer)],
  }
  const ask = (index: number): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const client = clients[index % count]! as unknown as {
        ModelInfer(message: object, done: (error: unknown, reply: unknown) => void): void
      }
      client.ModelInfer(message, (error, reply) =>
        error === null ? resolve(reply) : reject(error),
      )
    })
  const close = (): void => {
    for (const client of clients) client.close()
  }
  return { ask, close }
}

const p50 = (latencies: Float64Array): number =>
  percentile(
    [...latencies].sort((a, b) => a - b),
    0.5,
  )

/** Calls of one client that Node.js answers with nothing, as the client that measures sees them. */
async function limitOf(calls: number, seconds: number) {
  await using empty = await ChildServer.start([EMPTY_SERVER])
  const single = callsOf(empty.port, 'noop', Float32Array.of(1), 1)
  await measureSequential(single.ask, Math.ceil(calls / 4))
  const limitMs = p50(await measureSequential(single.ask, calls))
  single.close()
  const many = callsOf(empty.port, 'linear', values(), CONNECTIONS)
  await measureThroughput(many.ask, CONNECTIONS, seconds * 0.4)
  const { perSecond } = await measureThroughput(many.ask, CONNECTIONS, seconds)
  many.close()
  return { limitMs, limitPerSecond: Math.round(perSecond) }
}

/**
 * `infer-grpc`: the port of gRPC beside the HTTP port of the same process. The limit is what the client of grpc-js gets
 * of a server of `node:http2` that does nothing.
 */
export const inferGrpcBenchmark: Benchmark = {
  name: 'infer-grpc',
  summary:
    'gRPC beside HTTP of the same process: p50 of one float, and 784 floats on 64 connections',
  async run({ scratch, scale }) {
    const repository = join(scratch, 'models')
    writeRepository(repository, scratch)
    await using server = await startModelsOverGrpc(repository)
    const calls = Math.ceil(CALLS * scale)
    using connection = new HttpConnections(server.port, 1)
    const headers = { 'content-type': 'application/json' }
    const one = requestWriter({ method: 'POST', host: 'localhost', headers })
    const askHttp = () => connection.ask(one('/v2/models/noop/infer', ONE))
    const single = callsOf(server.grpcPort, 'noop', Float32Array.of(1), 1)
    for (const ask of [askHttp, single.ask]) await measureSequential(ask, Math.ceil(calls / 4))
    const http = p50(await measureSequential(askHttp, calls))
    const grpc = p50(await measureSequential(single.ask, calls))
    single.close()
    const seconds = SECONDS * scale
    const linearHttp = await overHttp(server.port, binaryRequest(), seconds)
    const linear = callsOf(server.grpcPort, 'linear', values(), CONNECTIONS)
    await measureThroughput(linear.ask, CONNECTIONS, seconds * 0.4)
    const linearGrpc = await measureThroughput(linear.ask, CONNECTIONS, seconds)
    linear.close()
    const { limitMs, limitPerSecond } = await limitOf(calls, seconds)
    return [
      {
        name: 'infer-grpc-p50',
        value: grpc,
        unit: 'ms',
        higher: false,
        targetRatio: 0.9,
        rival: http,
        rivalName: 'own HTTP',
        details: { calls, limitMs },
      },
      {
        name: 'infer-grpc-linear',
        value: linearGrpc.perSecond,
        unit: 'answers/s',
        rival: linearHttp.perSecond,
        rivalName: 'own HTTP, bytes',
        details: { connections: CONNECTIONS, limitPerSecond },
      },
    ]
  },
}
