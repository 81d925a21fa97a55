import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import type { FoldJobOptions } from './job.ts'

/*
 * A process that runs the fold job on worker threads, and that the test kills. IPC messages: `{ killSlot: n }`
 * to the process; `running`, `finished` and `failed: ...` from it.
 */
const settings = JSON.parse(process.argv[2]!) as {
  readonly job: FoldJobOptions
  readonly jobId: string
  readonly configuration: Record<string, string>
}

const log = await EmbeddedLog.open(settings.job.output)
await log.createTopic('results', { partitions: 2 })

const cluster = new MiniCluster()
const job = await cluster.startWorkers(new URL('./job.ts', import.meta.url), settings.job, {
  jobId: settings.jobId,
  configuration: settings.configuration,
})
job.onStatus(({ to }) => {
  if (process.connected) process.send!(to)
})
process.on('message', (message: { killSlot: number }) => job.killSlot(message.killSlot))
try {
  await job.result
  await log.close()
  process.exit(0)
} catch (error) {
  console.error(error)
  process.exit(1)
}
