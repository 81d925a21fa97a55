import { MiniCluster } from '../../../../src/testing/mini-cluster.ts'
import type { KafkaFoldOptions } from './job.ts'

/**
 * Runs the fold job on worker threads in a separate process, which the test kills. Messages of the IPC
 * channel: `{ killSlot: n }` in; job states and the number of completed checkpoints out.
 */
const settings = JSON.parse(process.argv[2]!) as {
  readonly job: KafkaFoldOptions
  readonly jobId: string
  readonly configuration: Record<string, string>
}

const cluster = new MiniCluster()
const job = await cluster.startWorkers(new URL('./job.ts', import.meta.url), settings.job, {
  jobId: settings.jobId,
  configuration: settings.configuration,
})
job.onStatus(({ to }) => {
  if (process.connected) process.send!(to)
})
process.on('message', (message: { killSlot: number }) => job.killSlot(message.killSlot))
setInterval(async () => {
  const metrics = await job.metrics()
  if (process.connected) process.send!(metrics['numberOfCompletedCheckpoints'] ?? 0)
}, 50).unref()
try {
  await job.result
  process.exit(0)
} catch (error) {
  console.error(error)
  process.exit(1)
}
