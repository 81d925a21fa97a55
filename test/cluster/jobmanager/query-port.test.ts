import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { onFreeQueryPort } from '../../../src/cluster/jobmanager/query-port.ts'

/** What another process does that takes a port. */
async function listenOn(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return server
}

it('a job whose port another process took meanwhile starts on the next one', async () => {
  const tried: number[] = []
  const started = await onFreeQueryPort([], async (port) => {
    tried.push(port)
    if (tried.length > 1) return port
    await listenOn(port)
    throw new Error('the port is in use')
  })
  expect(tried[0]).toBeGreaterThanOrEqual(9069)
  expect(started).toBe(tried.at(-1))
  expect(started).toBeGreaterThan(tried[0]!)
})

it('a job that cannot start on a free port fails at once', async () => {
  let starts = 0
  const starting = onFreeQueryPort([], async () => {
    starts += 1
    throw new Error('no such model')
  })
  await expect(starting).rejects.toThrow('no such model')
  expect(starts).toBe(1)
})

it('a port that another job of the JobManager has is not chosen', async () => {
  const first = await onFreeQueryPort([], async (port) => port)
  expect(await onFreeQueryPort([first], async (port) => port)).not.toBe(first)
})
