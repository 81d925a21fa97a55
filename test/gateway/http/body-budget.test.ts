import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { addBodyParsers } from '../../../src/gateway/http/bodies.ts'
import { AROUND_BYTES } from '../../../src/gateway/http/body-limits.ts'
import { ByteBudget } from '../../../src/http/access/byte-budget.ts'
import { FairTurns } from '../../../src/http/fair-turns.ts'
import { until } from '../../run/until.ts'

/** Most bytes of a body. */
const MOST = 300_000
const SHARE = MOST + AROUND_BYTES

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

let app: FastifyInstance
let budget: ByteBudget
let sockets: Socket[]
let charged: number

beforeEach(async () => {
  sockets = []
  budget = new ByteBudget({ most: SHARE + 200_000 + AROUND_BYTES, mostPerClient: SHARE })
  app = fastify({ bodyLimit: MOST })
  const turns = new FairTurns(() => performance.now())
  charged = 0
  const charge = (_: unknown, requests: number): void => {
    charged += requests
  }
  addBodyParsers(app, { budget, clientOf: ({ ip }) => ip, turns, charge })
  app.post('/', async ({ body }) => ({ bytes: (body as Buffer).length }))
  app.post('/digest', async ({ body }) => {
    await turn()
    return { sha256: digestOf(body as Buffer) }
  })
  app.get('/slow', (_, reply) => {
    const endMs = performance.now() + 20
    while (performance.now() < endMs);
    void reply.send('x')
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
})

afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await app.close()
})

/** Sends the head of a request with a body of so many bytes, and `sent` of them. */
async function send(localAddress: string, bytes: number, sent: number): Promise<Socket> {
  const { port } = app.server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  sockets.push(socket)
  await once(socket, 'connect')
  socket.write(
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: ${bytes}\r\n\r\n`,
  )
  socket.write(Buffer.alloc(sent, 0x31))
  return socket
}

const answerOf = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0])

it('large bodies of several clients are what was sent, although the memory that they came into is used again', async () => {
  const { port } = app.server.address() as AddressInfo
  const headers = { 'content-type': 'application/octet-stream' }
  const sent = Array.from({ length: 12 }, () => randomBytes(70_000))
  const answers = await Promise.all(
    sent.map(async (body) => {
      const options = { method: 'POST', headers, body }
      const answer = await fetch(`http://127.0.0.1:${port}/digest`, options)
      return ((await answer.json()) as { sha256: string }).sha256
    }),
  )
  expect(answers).toEqual(sent.map(digestOf))
})

it('bodies that are never whole take no more than the share of their client, and others are answered', async () => {
  for (let i = 0; i < 10; i++) await send('127.0.0.1', 250_000, 200_000)
  await until('the share is taken', () => budget.taken > SHARE - 70_000 - AROUND_BYTES)
  const good = await send('127.0.0.2', 100_000, 100_000)
  expect(await answerOf(good)).toContain('{"bytes":100000}')
  expect(budget.taken).toBeLessThanOrEqual(SHARE + 100_000 + AROUND_BYTES)
  for (const socket of sockets) socket.destroy()
  await until('all is given back', () => budget.taken === 0)
})

it('a large body counts as more requests, a compressed one by what it becomes', async () => {
  const csv = { 'content-type': 'text/csv' }
  const send = (payload: Buffer, headers: Record<string, string>) =>
    app.inject({ method: 'POST', url: '/', payload, headers })
  await send(Buffer.alloc(10_000), csv)
  expect(charged).toBe(0)
  await send(Buffer.alloc(3 * 65_536), csv)
  expect(charged).toBeGreaterThanOrEqual(3)
  charged = 0
  await send(gzipSync(Buffer.alloc(2 * 65_536, 0x31)), { ...csv, 'content-encoding': 'gzip' })
  expect(charged).toBeGreaterThanOrEqual(2)
})

it('a request without a body counts as one, however long its route takes', async () => {
  await app.inject({ url: '/slow' })
  expect(charged).toBe(0)
})

it('of many bodies that find no room all but some are refused at once, and their connections end', async () => {
  for (let i = 0; i < 40; i++) await send('127.0.0.1', 250_000, 200_000)
  const refused = (): Socket[] =>
    sockets.filter(({ closed, readableEnded }) => closed || readableEnded)
  for (const socket of sockets) socket.resume()
  await until('some are refused', () => refused().length >= 5)
  expect(budget.taken).toBeLessThanOrEqual(SHARE)
})

it('a body that waits for room goes on when there is some', async () => {
  const first = await send('127.0.0.1', 250_000, 249_999)
  await until('it has come', () => budget.taken === 249_999 + AROUND_BYTES)
  const second = await send('127.0.0.1', 100_000, 100_000)
  first.write('1')
  expect(await answerOf(first)).toContain('{"bytes":250000}')
  expect(await answerOf(second)).toContain('{"bytes":100000}')
  await until('all is given back', () => budget.taken === 0)
})

it('small bodies are not counted, and a compressed one counts as what it becomes', async () => {
  const ask = async (payload: Buffer, headers: Record<string, string>) =>
    (await app.inject({ method: 'POST', url: '/', payload, headers })).json<{ bytes: number }>()
  const csv = { 'content-type': 'text/csv' }
  expect(await ask(Buffer.alloc(10_000), csv)).toEqual({ bytes: 10_000 })
  const large = gzipSync(Buffer.alloc(290_000, 0x31))
  expect(await ask(large, { ...csv, 'content-encoding': 'gzip' })).toEqual({ bytes: 290_000 })
  await until('all is given back', () => budget.taken === 0)
})
