import { alsKey } from '../../src/models/als/row-key.ts'
import { ALS_MODEL } from '../../src/models/topic/als-serving-function.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { type Ask, measureThroughput, type Throughput } from '../load/generator.ts'
import { getRequest, HttpConnections } from '../load/http-connections.ts'
import { scaled } from '../load/model-shape.ts'
import { median } from '../load/statistics.ts'
import { percentilesOf } from '../load/stretch.ts'
import { askedUser } from '../rivals/faiss.ts'
import { startGateway } from './servers.ts'

const ROUNDS = 5
const SECONDS = 3
const OUTSTANDING = 16
const K = 10

/** `http-topk`: recommendations over HTTP, against the same questions over the query protocol. */
export const httpTopKBenchmark: Benchmark = {
  name: 'http-topk',
  summary: 'GET the ten best of 136,000 items x 100, 16 connections, against the query protocol',
  async run({ scale, say, workspace }) {
    const shape = { users: scaled(20_000, scale), items: scaled(136_000, scale), factors: 100 }
    const served = await workspace.serve(shape)
    const client = await served.client()
    await using gateway = await startGateway(await served.port, [])
    using connections = new HttpConnections(gateway.port, OUTSTANDING)
    const userAt = (index: number): string => String(askedUser(index, shape.users) + 1)
    const overHttp: Ask = (index) =>
      connections.ask(getRequest(`/recommend/${userAt(index)}?howMany=${K}`))
    const overProtocol: Ask = async (index) => {
      const options = { k: K, suffix: '-I' }
      const answer = await client.topK(ALS_MODEL, alsKey(userAt(index), 'U'), options)
      if (!answer.ok) throw answer.error
    }
    const http: Throughput[] = []
    const protocol: Throughput[] = []
    for (const ask of [overHttp, overProtocol]) await measureThroughput(ask, OUTSTANDING, 1)
    for (let round = 1; round <= ROUNDS; round++) {
      http.push(await measureThroughput(overHttp, OUTSTANDING, SECONDS))
      protocol.push(await measureThroughput(overProtocol, OUTSTANDING, SECONDS))
      const [here, there] = [http, protocol].map((all) => Math.round(all.at(-1)!.perSecond))
      say(`round ${round}: HTTP ${here}/s, query protocol ${there}/s`)
    }
    return [
      {
        name: 'http-topk',
        value: median(http.map(({ perSecond }) => perSecond)),
        unit: 'requests/s',
        targetRatio: 0.8,
        rival: median(protocol.map(({ perSecond }) => perSecond)),
        rivalName: 'the query protocol',
        details: {
          ...shape,
          k: K,
          outstanding: OUTSTANDING,
          rounds: ROUNDS,
          ...percentilesOf(http),
        },
      },
    ]
  },
}
