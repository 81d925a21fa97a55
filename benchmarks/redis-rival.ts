import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'

/** A Redis server on loopback, started for one benchmark. */
export interface RedisRival extends AsyncDisposable {
  readonly client: Redis
}

/** Starts Debian's `redis-server` without persistence; undefined when it is not installed. */
export async function startRedis(): Promise<RedisRival | undefined> {
  const port = await freePort()
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    { stdio: 'ignore' },
  )
  if (!(await started(server))) return undefined
  const client = new Redis({
    port,
    host: '127.0.0.1',
    enableAutoPipelining: true,
    retryStrategy: () => 50,
  })
  client.on('error', () => {})
  await client.ping()
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.disconnect()
      server.kill('SIGTERM')
      await new Promise((resolve) => server.once('exit', resolve))
    },
  }
}

function started(server: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.once('spawn', () => resolve(true))
  })
}

/** A TCP port that was free a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        resolve(typeof address === 'object' && address !== null ? address.port : 0),
      )
    })
  })
}
