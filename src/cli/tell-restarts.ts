import type { ServedJob } from '../jobmanager/served-job.ts'
import type { CommandIo } from './command.ts'

/** Says on the error output what a running job survives, which would otherwise pass unseen. */
export function tellRestarts(job: ServedJob, name: string, io: CommandIo): void {
  job.queries.onThreadLost((thread, reason) => io.err(`${name}: query thread ${thread}: ${reason}`))
  job.execution.onStatus(({ to }) => {
    if (to !== 'RESTARTING') return
    const failure = job.execution.failures.at(-1)
    io.err(`${name}: attempt ${failure?.attempt} failed: ${failure?.error.message}; restarting`)
  })
}
