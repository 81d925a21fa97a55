import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { Redis } from 'ioredis'

/*
 * What a team writes today: Fastify over Redis. `fastify-process.ts REDIS_PORT FACTORS`, or without arguments
 * an empty route. Prints the port that it listens on.
 */
const [redisPort, factors] = process.argv.slice(2).map(Number)

const PREDICTION = {
  type: 'object',
  properties: { user: { type: 'string' }, item: { type: 'string' }, score: { type: 'number' } },
} as const

const app = Fastify({ routerOptions: { maxParamLength: 1024 } })
if (redisPort === undefined) addEmptyRoute()
else addRedisRoutes(redisPort, factors!)
await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${(app.server.address() as AddressInfo).port}\n`)

function addEmptyRoute(): void {
  app.get('/v1/predict/:user/:item', async () => ({}))
  app.post('/v1/predict', async () => ({}))
}

function addRedisRoutes(port: number, floats: number): void {
  const redis = new Redis({ port, host: '127.0.0.1', enableAutoPipelining: true })
  const left = new Float32Array(floats)
  const right = new Float32Array(floats)
  const leftBytes = new Uint8Array(left.buffer)
  const rightBytes = new Uint8Array(right.buffer)
  const score = (user: Buffer | null, item: Buffer | null): number => {
    leftBytes.set(user!)
    rightBytes.set(item!)
    let sum = 0
    for (let i = 0; i < floats; i++) sum += left[i]! * right[i]!
    return sum
  }
  app.get<{ Params: { readonly user: string; readonly item: string } }>(
    '/v1/predict/:user/:item',
    { schema: { response: { 200: PREDICTION } } },
    async ({ params: { user, item } }) => {
      const rows = await redis.mgetBuffer(`${user}-U`, `${item}-I`)
      return { user, item, score: score(rows[0]!, rows[1]!) }
    },
  )
  app.post<{ Body: { readonly pairs: readonly (readonly [string, string])[] } }>(
    '/v1/predict',
    {
      schema: {
        response: {
          200: {
            type: 'object',
            properties: { predictions: { type: 'array', items: PREDICTION } },
          },
        },
      },
    },
    async ({ body: { pairs } }) => {
      const rows = await redis.mgetBuffer(
        pairs.flatMap(([user, item]) => [`${user}-U`, `${item}-I`]),
      )
      return {
        predictions: pairs.map((_, i) => ({ score: score(rows[2 * i]!, rows[2 * i + 1]!) })),
      }
    },
  )
}
