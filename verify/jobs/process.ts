import { messageOf } from '../../src/core/errors.ts'
import { siblingModule } from '../../src/core/sibling-module.ts'
import { ServedJob } from '../../src/jobs/served-job.ts'
import type { JobCommand, JobProcessSettings, JobReport } from './messages.ts'

/*
 * A process that runs one job as `weir run` does, with slot and query threads. The verifier kills it. SIGTERM
 * ends it cleanly, and it ends with the verifier.
 */
const settings = JSON.parse(process.argv[2]!) as JobProcessSettings

const LOOK_MS = 25

function send(report: JobReport): void {
  if (process.connected) process.send!(report)
}

process.on('disconnect', () => process.exit(1))
// Ctrl-C reaches the whole process group, but only the verifier handles it.
process.on('SIGINT', () => undefined)

const job = await ServedJob.start({
  module: siblingModule(settings.module, import.meta.url),
  jobOptions: settings.jobOptions,
  configuration: settings.configuration,
  jobId: settings.jobId,
  seed: process.pid,
  port: settings.port,
})
const { execution, queries } = job

execution.onStatus(({ to, attempt, atMs, cause }) => {
  const why = cause === undefined ? undefined : messageOf(cause)
  if (why !== undefined) console.error(`${new Date(atMs).toISOString()} ${to}: ${why}`)
  send({ kind: 'status', to, attempt, atMs, cause: why })
})
send({
  kind: 'status',
  to: execution.status,
  attempt: execution.attempt,
  atMs: Date.now(),
  cause: undefined,
})

let lastSent = ''
let failed = 0
const looking = setInterval(() => {
  const statistics = execution.checkpointStatistics
  const last = statistics?.recent().find(({ status }) => status === 'COMPLETED')
  const ports = [queries.port, ...queries.routing.endpoints.map(({ port }) => port)]
  const report: JobReport = {
    kind: 'state',
    checkpointId: last?.id ?? 0,
    checkpointTriggeredMs: last?.trigger_timestamp ?? 0,
    ports,
  }
  const text = JSON.stringify(report)
  if (text !== lastSent) send(report)
  lastSent = text
  const failures = statistics?.counts().failed ?? 0
  if (failures !== failed) {
    const one = statistics!.recent().find(({ status }) => status === 'FAILED')
    console.error(`${new Date().toISOString()} checkpoint ${one?.id}: ${one?.failure_message}`)
  }
  failed = failures
}, LOOK_MS)

process.on('message', ({ killSlot }: JobCommand) => execution.killSlot(killSlot))
process.once('SIGTERM', () => {
  clearInterval(looking)
  job.close().then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
execution.result.catch((error: unknown) => {
  if (execution.status !== 'FAILED') return
  console.error(error)
  process.exit(1)
})
