import { ERROR_CODES } from '../../../core/errors.ts'
import { isTerminal } from '../../../runtime/job/status.ts'
import type { JobSnapshot } from '../port/job-snapshot.ts'

/** The facts of a job that say what it waits for. */
type WaitingJob = Pick<JobSnapshot, 'waits' | 'status' | 'nowMs'>

/** For what a job waits, a sentence each: who waits, for what, for how long, and why. */
export function waitingFor(job: WaitingJob): string[] {
  return sentencesOf(job, ({ why }) => `: ${why}`)
}

/**
 * Why a job cannot do its work now, a sentence each; none for one that can: it does not run, or a service outside
 * does not answer it. Without addresses and causes, because probes show no token.
 */
export function notReadyBecause(job: WaitingJob & Pick<JobSnapshot, 'name'>): string[] {
  const { status, waits = [] } = job
  if (status !== 'RUNNING') return [`job ${job.name} is ${status}`]
  const away = waits.filter(({ code }) => ERROR_CODES[code].retryable)
  return sentencesOf({ ...job, waits: away }, () => '')
}

function sentencesOf(
  { waits = [], status, nowMs }: WaitingJob,
  whyOf: (wait: (typeof waits)[number]) => string,
): string[] {
  if (isTerminal(status)) return []
  return waits.map((wait) => {
    const seconds = Math.max(0, Math.floor((nowMs - wait.sinceMs) / 1000))
    const who = wait.operator ?? 'checkpoints'
    const verb = wait.operator === undefined ? 'wait' : 'waits'
    return `${who} ${verb} for ${wait.waitsFor}, for ${seconds} s${whyOf(wait)}`
  })
}
