import { once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import { expect, it } from 'vitest'
import type { ObservationTopic, StoredPosition } from '../../../src/gateway/port/services.ts'
import { until } from '../../run/until.ts'
import { RawClient } from '../hot/raw-client.ts'
import { GatewayWorld } from '../world.ts'

const PREDICT = 'GET /v1/predict/1/50 HTTP/1.1\r\nHost: localhost\r\n\r\n'
const OBSERVATION = '{"user":"1","item":"50","rating":4}'
const OBSERVE = `POST /v1/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${OBSERVATION.length}\r\n\r\n${OBSERVATION}`

it.each([
  ['hot requests', true],
  ['node:http', false],
])(
  'connections above the share of an address are closed while the others are in use, and those below it are answered: %s',
  async (_, isHot) => {
    const app = await new GatewayWorld().open({}, { maxConnections: 4, isHot })
    try {
      await app.listen({ host: '127.0.0.1', port: 0 })
      using first = await RawClient.open(app)
      using second = await RawClient.open(app)
      first.send(PREDICT)
      await first.answers(1)
      second.send(PREDICT)
      await second.answers(1)
      using third = await RawClient.open(app)
      expect(await third.all()).toBe('')
      first.socket.destroy()
      await once(first.socket, 'close')
      second.send(PREDICT)
      expect(await second.answers(2)).toContain(' 200 OK')
      await expect
        .poll(async () => {
          using next = await RawClient.open(app)
          next.send(PREDICT.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
          return await next.all()
        })
        .toContain(' 200 OK')
    } finally {
      await app.close()
    }
  },
)

it('a connection whose hot request waits gives way to no other, older or not', async () => {
  const stored = Promise.withResolvers<readonly StoredPosition[]>()
  let waiting = 0
  const observations: ObservationTopic = {
    topic: 'ratings',
    append: () => {
      waiting += 1
      return stored.promise
    },
    reachable: async () => {},
  }
  const app = await new GatewayWorld().open({ observations }, { maxConnections: 4 })
  try {
    await app.listen({ host: '127.0.0.1', port: 0 })
    using busy = await RawClient.open(app, '127.0.0.2')
    busy.send(OBSERVE)
    await until('it waits', () => waiting === 1)
    using idle = await answered(app, '127.0.0.2')
    using _first = await answered(app, '127.0.0.3')
    using _second = await answered(app, '127.0.0.3')
    using _next = await answered(app, '127.0.0.1')
    await idle.all()
    stored.resolve([])
    expect(await busy.answers(1)).toContain('"accepted":1')
  } finally {
    await app.close()
  }
})

/** A connection from an address whose request was answered. */
async function answered(app: FastifyInstance, address: string): Promise<RawClient> {
  const client = await RawClient.open(app, address)
  client.send(PREDICT)
  await client.answers(1)
  return client
}

it('a request of which a byte comes from time to time is ended by a deadline for all of it', async () => {
  const app = await new GatewayWorld().open({}, { requestTimeoutMs: 700 })
  try {
    await app.listen({ host: '127.0.0.1', port: 0 })
    const refused: unknown[] = []
    app.server.on('clientError', ({ code }: { readonly code?: string }) => refused.push(code))
    using client = await RawClient.open(app)
    client.send('POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n')
    const trickle = setInterval(() => client.send(' '), 100)
    const answer = await client.all()
    clearInterval(trickle)
    expect(refused).toEqual(['ERR_HTTP_REQUEST_TIMEOUT'])
    // A byte that crosses the answer resets the connection, and with it the answer.
    if (answer !== '') expect(answer).toContain(' 408 ')
  } finally {
    await app.close()
  }
})
