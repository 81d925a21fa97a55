import type { ServedJob } from '../../jobs/served-job.ts'
import { codeOfFailure } from '../../runtime/protocol/slot-host.ts'
import type { JobLog } from './job-log.ts'

/** Time between two lines about failed checkpoints. */
const FAILED_CHECKPOINTS_EVERY_MS = 60_000

/**
 * Logs lost query threads, restarts and warnings of a running job, with the time of day. Of failed
 * checkpoints it logs the first, then one line a minute.
 */
export function reportRestarts(job: ServedJob, log: JobLog): void {
  const failedCheckpoints = new FailedCheckpoints()
  job.queries.onThreadLost((thread, reason) => log.warn(`query thread ${thread}: ${reason}`))
  job.execution.onWarning(({ kind, atMs, error }) => {
    const text =
      kind === 'checkpoint-failed'
        ? failedCheckpoints.textOf(atMs, `${error.code}: ${error.message}`)
        : `warning: ${error.code}: ${error.message}`
    if (text !== undefined) log.warn(text, { atMs, error })
  })
  job.execution.onStatus(({ to, atMs, delayMs = 0 }) => {
    const failure = job.execution.failures.at(-1)
    if (to === 'FAILED' && failure !== undefined && log.isJson) {
      const { attempt, error } = failure
      log.error(`the job has failed: ${codeOfFailure(error)}: ${error.message}`, {
        atMs,
        attempt,
        error,
      })
    }
    if (to !== 'RESTARTING' || failure === undefined) return
    const { attempt, error } = failure
    const reason = `${codeOfFailure(error)}: ${error.message}`
    const what = attempt === 0 ? 'the start' : `attempt ${attempt}`
    log.error(`${what} failed: ${reason}; restarting in ${delayMs / 1000} s`, {
      atMs,
      attempt,
      error,
    })
  })
}

/** The lines about failed checkpoints: the first at once, the others summed up once a minute. */
export class FailedCheckpoints {
  private unreported = 0
  private reportedAtMs = Number.NEGATIVE_INFINITY

  /** The line about a failure; undefined if it is counted in a later line. */
  textOf(atMs: number, reason: string): string | undefined {
    this.unreported += 1
    if (atMs - this.reportedAtMs < FAILED_CHECKPOINTS_EVERY_MS) return undefined
    const failed =
      this.unreported === 1 ? 'a checkpoint failed' : `${this.unreported} checkpoints failed`
    this.unreported = 0
    this.reportedAtMs = atMs
    return `warning: ${failed}: ${reason}`
  }
}
