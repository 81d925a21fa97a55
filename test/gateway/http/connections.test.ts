import { once } from 'node:events'
import { expect, it } from 'vitest'
import { RawClient } from '../hot/raw-client.ts'
import { GatewayWorld } from '../world.ts'

const PREDICT = 'GET /v1/predict/1/50 HTTP/1.1\r\nHost: localhost\r\n\r\n'

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
