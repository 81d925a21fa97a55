import { type Clock, orAfter, systemClock } from '../../core/clock.ts'
import type { ServedJob } from '../../jobs/served-job.ts'
import type { Flags } from '../command/command.ts'
import type { ShowJobOptions, ShownJob } from './show-job.ts'

/** Longest time that the REST interface waits for its job to run, ms. */
const LATE_MS = 1000

/**
 * Shows a job as `showJob` does, once it runs, or after a second: loading the code of the REST interface takes
 * processor time that the threads of the job need to start and to restore. Where a JobManager started the
 * process, it is connected at once, because it waits for the job. Throws as `showJob`.
 */
export async function showWhenRunning(
  job: ServedJob,
  flags: Flags,
  options: Omit<ShowJobOptions, 'titles'>,
): Promise<ShownJob> {
  if (options.io.jobManager === undefined) await runningOrLate(job.execution, systemClock)
  const [{ showJob }, { titlesOf }] = await Promise.all([
    import('./show-job.ts'),
    import('./rest.ts'),
  ])
  return await showJob(job, { ...options, titles: titlesOf(flags) })
}

/** Resolves when the job runs, when it has ended, or after a second. */
export async function runningOrLate(
  job: Pick<ServedJob['execution'], 'waitFor'>,
  clock: Clock,
): Promise<void> {
  // A job that cannot start is reported by its result.
  const runs = job.waitFor('RUNNING').catch(() => {})
  await orAfter(clock, LATE_MS, runs, () => {})
}
