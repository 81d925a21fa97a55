import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { expect, it } from 'vitest'
import { AnswerText } from '../../../src/gateway/hot/answer-text.ts'
import { HotConnection } from '../../../src/gateway/hot/connection.ts'
import { HotObservations } from '../../../src/gateway/hot/observations.ts'
import { HotRoute } from '../../../src/gateway/hot/route.ts'
import { RouteMetrics } from '../../../src/gateway/metrics/request-metrics.ts'
import { FairTurns } from '../../../src/http/fair-turns.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { until } from '../../run/until.ts'

/** Connections whose observations go to a list; to store one takes 5 ms of a clock that nothing else moves. */
function world() {
  let nowMs = 0
  const stored: string[] = []
  const topic = {
    topic: 'ratings',
    append: async ([first]: readonly { readonly user: string }[]) => {
      stored.push(first!.user)
      nowMs += 5
      return []
    },
    reachable: async () => {},
  }
  const port = {
    text: new AnswerText(new ManualClock(), 5000),
    log: { error: () => {}, info: () => {} },
    access: undefined,
  }
  const state = { routing: { epoch: 1, job: 'j', endpoints: [], states: [], sources: [] } }
  const observations = new HotObservations(
    { topic, state, turns: new FairTurns(() => nowMs) },
    new HotRoute(port, new RouteMetrics('POST', '/v1/observe')),
  )
  const connect = (remoteAddress: string): Duplex => {
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
    new HotConnection(Object.assign(socket, { remoteAddress }) as Duplex as Socket, {
      limits: { maxBodyBytes: 0, maxObservationBytes: 100, onlyLoopbackNames: false },
      answer: (exchange, token) => {
        if (exchange.request.kind !== 'observation') throw new Error('no observation')
        observations.answer(exchange, exchange.request.observation, token)
      },
      handOver: () => {},
      requested: () => {},
      closed: () => {},
    })
    return socket
  }
  return { stored, connect }
}

const observe = (user: string): string => {
  const body = JSON.stringify({ user, item: '50', rating: 4 })
  return `POST /v1/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

it('observations of a client that sends many wait for those of another one', async () => {
  const { stored, connect } = world()
  for (let i = 0; i < 4; i++) connect('a').push(observe(`a${i}`))
  connect('b').push(observe('b'))
  await until('all are stored', () => stored.length === 5, { everyMs: 0 })
  expect(stored).toEqual(['a0', 'a1', 'b', 'a2', 'a3'])
})

it('an observation whose client left while it waited is not stored', async () => {
  const { stored, connect } = world()
  connect('a').push(observe('a0'))
  const second = connect('a')
  second.push(observe('a1'))
  connect('a').push(observe('a2'))
  // All requests are read in this turn, and the second one waits for the next.
  await new Promise<void>((resolve) => process.nextTick(resolve))
  expect(stored).toEqual(['a0'])
  second.destroy()
  await until('the others are stored', () => stored.length === 2, { everyMs: 0 })
  expect(stored).toEqual(['a0', 'a2'])
})
