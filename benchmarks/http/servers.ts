import { fileURLToPath } from 'node:url'
import type { BenchmarkOptions } from '../harness/benchmark.ts'
import type { KeySchedule } from '../load/key-schedule.ts'
import { servedShape } from '../load/model-shape.ts'
import { ChildServer } from '../served/child-server.ts'
import type { ServedModel } from '../served/model.ts'

/** Connections of the benchmarks over HTTP. */
export const CONNECTIONS = 64

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const COMMAND = pathOf('../../src/cli/main.ts')
const RIVAL = pathOf('../rivals/fastify-process.ts')

/** The servers that answer the same questions over HTTP, each in a process of its own. */
export interface HttpServers extends AsyncDisposable {
  readonly served: ServedModel
  readonly schedule: KeySchedule
  readonly gateway: ChildServer
  /** Fastify over Redis; undefined where Redis is not installed. */
  readonly redis: ChildServer | undefined
  /** An empty route of Fastify. */
  readonly empty: ChildServer
}

/** Starts the gateway of a served model, Fastify over Redis with the same rows, and an empty Fastify. */
export async function startServers(
  { scale, workspace }: BenchmarkOptions,
  queryThreads = 1,
): Promise<HttpServers> {
  const shape = servedShape(scale)
  const resources = new AsyncDisposableStack()
  const served = await workspace.serve(shape, queryThreads)
  const gateway = resources.use(await startGateway(await served.port, []))
  const redis = await served.whilePaused(() => workspace.redisWith(shape))
  const redisPort = redis?.client.options.port
  const rival =
    redisPort === undefined
      ? undefined
      : resources.use(await ChildServer.start([RIVAL, String(redisPort), String(shape.factors)]))
  const empty = resources.use(await ChildServer.start([RIVAL]))
  return {
    served,
    schedule: workspace.schedule(shape, 'zipf'),
    gateway,
    redis: rival,
    empty,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** `weir gateway` in front of the job at a port of this machine. */
export function startGateway(jobPort: number, args: readonly string[]): Promise<ChildServer> {
  const words = ['gateway', '--json', '--listen', '127.0.0.1:0', '--port', String(jobPort), ...args]
  return ChildServer.start(
    [COMMAND, ...words],
    (line) => (JSON.parse(line) as { port: number }).port,
  )
}
