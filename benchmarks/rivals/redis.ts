import { type ChildProcess, spawn } from 'node:child_process'
import { Redis } from 'ioredis'
import { freePorts } from '../../test/services/free-port.ts'

/** A Redis server on 127.0.0.1 for one benchmark. */
export interface RedisRival extends AsyncDisposable {
  readonly client: Redis
}

/** Starts `redis-server` without persistence; undefined when it is not installed. */
export async function startRedis(): Promise<RedisRival | undefined> {
  const [port] = (await freePorts(1)) as [number]
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
  const killAtExit = (): void => {
    server.kill('SIGKILL')
  }
  process.prependListener('exit', killAtExit)
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.disconnect()
      server.kill('SIGTERM')
      await new Promise((resolve) => server.once('exit', resolve))
      process.off('exit', killAtExit)
    },
  }
}

function started(server: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.once('spawn', () => resolve(true))
  })
}
