import { once } from 'node:events'
import { expect, it } from 'vitest'
import { RawClient } from '../hot/raw-client.ts'
import { GatewayWorld } from '../world.ts'

const PREDICT = 'GET /v1/predict/1/50 HTTP/1.1\r\nHost: localhost\r\n\r\n'

it.each([
  ['hot requests', true],
  ['node:http', false],
])(
  'connections above the limit are closed, and those below it are answered: %s',
  async (_, isHot) => {
    const app = await new GatewayWorld().open({}, { maxConnections: 2, isHot })
    try {
      await app.listen({ host: '127.0.0.1', port: 0 })
      using first = await RawClient.open(app)
      using second = await RawClient.open(app)
      first.send(PREDICT)
      await first.answers(1)
      using third = await RawClient.open(app)
      expect(await third.all()).toBe('')
      first.socket.destroy()
      await once(first.socket, 'close')
      second.send(PREDICT)
      expect(await second.answers(1)).toContain(' 200 OK')
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
