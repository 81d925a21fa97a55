import { join } from 'node:path'
import { openTopics } from '../../src/connectors/topics/open.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { measureThroughput, type Throughput } from '../load/generator.ts'
import { HttpConnections, postRequest } from '../load/http-connections.ts'
import { servedShape } from '../load/model-shape.ts'
import { median } from '../load/statistics.ts'
import { percentilesOf } from '../load/stretch.ts'
import { CONNECTIONS, startGateway } from './servers.ts'

const ROUNDS = 5
const SECONDS = 3
const TOPIC = 'observations'

/** `http-observe`: observations over HTTP, each acknowledged when it is durable in the embedded log. */
export const httpObserveBenchmark: Benchmark = {
  name: 'http-observe',
  summary: 'POST one observation, acknowledged durable in the embedded log, 64 connections',
  async run({ scale, say, scratch, workspace }) {
    const served = await workspace.serve(servedShape(scale))
    const data = join(scratch, 'observed')
    await using topics = await openTopics({ logDirectory: join(data, 'log') })
    await topics.create(TOPIC, { partitions: 2 })
    await topics[Symbol.asyncDispose]()
    const args = ['--observations', TOPIC, '--data-dir', data]
    await using gateway = await startGateway(await served.port, args)
    using connections = new HttpConnections(gateway.port, CONNECTIONS)
    const ask = async (index: number): Promise<void> => {
      const observation = { user: String(index % 5000), item: String(index % 700), rating: 4 }
      await connections.ask(postRequest('/v1/observe', JSON.stringify(observation)))
    }
    await measureThroughput(ask, CONNECTIONS, 1)
    const rounds: Throughput[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      rounds.push(await measureThroughput(ask, CONNECTIONS, SECONDS))
      say(`round ${round}: ${Math.round(rounds.at(-1)!.perSecond)} observations/s`)
    }
    return [
      {
        name: 'http-observe',
        value: median(rounds.map(({ perSecond }) => perSecond)),
        unit: 'observations/s',
        target: 8000,
        details: { connections: CONNECTIONS, rounds: ROUNDS, ...percentilesOf(rounds) },
      },
    ]
  },
}
