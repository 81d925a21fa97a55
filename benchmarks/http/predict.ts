import { idOfKey } from '../../src/models/als/row-key.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { getRequest } from '../load/http-connections.ts'
import { percentilesOf } from '../load/stretch.ts'
import { Contender, compare, ROUNDS } from './contender.ts'
import { CONNECTIONS, startServers } from './servers.ts'

/** `http-predict`: single predictions over HTTP, against Fastify over Redis and against an empty route. */
export const httpPredictBenchmark: Benchmark = {
  name: 'http-predict',
  summary:
    'GET one prediction, 64 connections, against Fastify with Redis and an empty Fastify route',
  async run(options) {
    await using servers = await startServers(options)
    const { schedule, redis } = servers
    const request = (): string => {
      const at = schedule.advance()
      const user = idOfKey(schedule.users[at]!)
      return getRequest(`/v1/predict/${user}/${idOfKey(schedule.items[at]!)}`)
    }
    const weir = new Contender('gateway', servers.gateway, request)
    const empty = new Contender('an empty Fastify route', servers.empty, request)
    const application =
      redis === undefined ? undefined : new Contender('Fastify and Redis', redis, request)
    const rivals = application === undefined ? [empty] : [application, empty]
    await compare(servers, weir, rivals, options.say)
    const percentiles = percentilesOf(weir.rounds)
    const details = { connections: CONNECTIONS, rounds: ROUNDS, ...percentiles }
    const figure = (name: string, rival: Contender, targetRatio: number): Figure => ({
      name,
      value: weir.perSecond,
      unit: 'requests/s',
      targetRatio,
      rival: rival.perSecond,
      rivalName: rival.name,
      details,
    })
    return [
      ...(application === undefined ? [] : [figure('http-predict', application, 1.3)]),
      figure('http-predict-of-empty', empty, 0.75),
      {
        name: 'http-predict-p99',
        value: percentiles['p99Ms']!,
        unit: 'ms',
        target: 10,
        higher: false,
      },
    ]
  },
}
