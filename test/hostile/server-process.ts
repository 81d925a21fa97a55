import { pathToFileURL } from 'node:url'
import { QueryThreads } from '../../src/serving/threads/query-threads.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { ROWS, type ServedRowsOptions } from '../fixtures/served-rows-job.ts'

/*
 * The server that is attacked, in a separate process: a job with two slots and one query thread. Arguments:
 * seed, folder of the checkpoints, ms between two of them, number of keys. It answers every message with
 * its figures.
 */

/** Figures of the server. */
export interface ServerFigures {
  /** Bootstrap port. */
  readonly port: number
  /** Port of the query thread; 0 until it listens. */
  readonly threadPort: number
  readonly rssBytes: number
  /** Processor time of the process, in ms. */
  readonly cpuMs: number
  readonly completedCheckpoints: number
}

const [seed, folder, checkpointMs, keys] = process.argv.slice(2)
const cluster = new MiniCluster({ seed: Number(seed) })
const serving = await QueryThreads.start({ threads: 1, port: 0, models: [ROWS] })
const options: ServedRowsOptions = {
  keys: Number(keys),
  dimension: 20,
  valueLength: 10_000,
  ratePerSecond: 2_000,
}
const job = await cluster.startWorkers(
  new URL('../fixtures/served-rows-job.ts', import.meta.url),
  options,
  {
    serving,
    configuration: {
      'parallelism.default': '2',
      'execution.checkpointing.dir': pathToFileURL(folder!).href,
      'execution.checkpointing.interval': `${checkpointMs} ms`,
    },
  },
)
await serving.listening()

async function figures(): Promise<ServerFigures> {
  const { user, system } = process.cpuUsage()
  const metrics: Readonly<Record<string, unknown>> = await job.metrics()
  return {
    port: serving.port,
    threadPort: serving.routing.endpoints[0]?.port ?? 0,
    rssBytes: process.memoryUsage.rss(),
    cpuMs: (user + system) / 1000,
    completedCheckpoints: Number(metrics['numberOfCompletedCheckpoints'] ?? 0),
  }
}

process.on('message', async () => process.send!(await figures()))
process.on('disconnect', async () => {
  await cluster.close()
  await serving.close()
  process.exit()
})
