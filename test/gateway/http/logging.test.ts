import { describe, expect, it } from 'vitest'
import { type LogLevel, loggerOf } from '../../../src/gateway/http/logging.ts'
import { GatewayWorld } from '../world.ts'

const SECRET = 'weir_secret-token'
const OBSERVE = {
  method: 'POST',
  url: '/v1/observe',
  headers: { authorization: `Bearer ${SECRET}`, cookie: SECRET },
  payload: { user: 'ann', item: '50', rating: 5 },
} as const

async function opened(level: LogLevel) {
  const lines: string[] = []
  const world = new GatewayWorld()
  const logger = loggerOf({ level, thread: 3, write: (line) => lines.push(line) })
  const app = await world.open({}, logger === undefined ? {} : { logger })
  return { lines, world, app }
}

describe('the log of a gateway', () => {
  it('has a line for a failure of the gateway, with the number of the request', async () => {
    const { lines, world, app } = await opened('warn')
    world.appendError = new Error('disk full')
    expect((await app.inject(OBSERVE)).statusCode).toBe(500)
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0]!)).toMatchObject({
      name: 'weir-gateway',
      level: 50,
      thread: 3,
      reqId: 'req-1',
      err: { message: 'disk full' },
    })
    await app.close()
  })

  it('has no line for requests that succeed, or that the client got wrong', async () => {
    const { lines, app } = await opened('warn')
    await app.inject({ url: '/v1/predict/1/50' })
    await app.inject({ url: '/nowhere' })
    expect(lines).toEqual([])
    await app.close()
  })

  it('has at level info every request by route, without tokens and ids', async () => {
    const { lines, app } = await opened('info')
    await app.inject({ url: '/v1/predict/ann/50', headers: OBSERVE.headers })
    await new Promise((resolve) => setImmediate(resolve))
    const [incoming, completed] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(incoming).toMatchObject({
      reqId: 'req-1',
      req: { method: 'GET', route: '/v1/predict/:user/:item' },
    })
    expect(completed).toMatchObject({ reqId: 'req-1', res: { statusCode: 200 } })
    expect(lines.join('')).not.toContain(SECRET)
    expect(lines.join('')).not.toContain('ann')
    await app.close()
  })

  it('leaves secrets out also where headers are logged', async () => {
    const { lines, app } = await opened('debug')
    app.log.info({ headers: OBSERVE.headers, request: { headers: OBSERVE.headers } }, 'headers')
    expect(lines).toHaveLength(1)
    expect(lines[0]).not.toContain(SECRET)
    await app.close()
  })

  it('is empty at level silent', async () => {
    const { lines, world, app } = await opened('silent')
    world.appendError = new Error('disk full')
    expect((await app.inject(OBSERVE)).statusCode).toBe(500)
    expect(lines).toEqual([])
    await app.close()
  })
})
