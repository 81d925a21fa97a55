import { idOfKey } from '../../src/models/als/row-key.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { postRequest } from '../load/http-connections.ts'
import { percentilesOf } from '../load/stretch.ts'
import { Contender, compare, ROUNDS } from './contender.ts'
import { CONNECTIONS, startServers } from './servers.ts'

const PAIRS = 256
const REQUESTS = 512
/** A batch costs the query thread more than the gateway and the client together, so one would leave a core idle. */
const QUERY_THREADS = 2

/** `http-batch`: predictions in batches over HTTP, against Fastify over Redis. */
export const httpBatchBenchmark: Benchmark = {
  name: 'http-batch',
  summary: 'POST 256 pairs a request, 64 connections, against Fastify with Redis',
  async run(options) {
    await using servers = await startServers(options, QUERY_THREADS)
    const { schedule, redis } = servers
    const pair = (): readonly [string, string] => {
      const at = schedule.advance()
      return [idOfKey(schedule.users[at]!), idOfKey(schedule.items[at]!)]
    }
    // As bytes: the client shares the cores with the servers, and encodes each request once.
    const requests = Array.from({ length: REQUESTS }, () => {
      const body = JSON.stringify({ pairs: Array.from({ length: PAIRS }, pair) })
      return Buffer.from(postRequest('/v1/predict', body))
    })
    let next = 0
    const request = (): Uint8Array => requests[next++ % REQUESTS]!
    const weir = new Contender('gateway', servers.gateway, request)
    const rival =
      redis === undefined ? undefined : new Contender('Fastify and Redis', redis, request)
    await compare(servers, weir, rival === undefined ? [] : [rival], options.say)
    return [
      {
        name: 'http-batch',
        value: weir.perSecond * PAIRS,
        unit: 'predictions/s',
        target: 250_000,
        ...(rival === undefined
          ? {}
          : { targetRatio: 5, rival: rival.perSecond * PAIRS, rivalName: rival.name }),
        details: {
          pairs: PAIRS,
          connections: CONNECTIONS,
          queryThreads: QUERY_THREADS,
          rounds: ROUNDS,
          ...percentilesOf(weir.rounds),
        },
      },
    ]
  },
}
