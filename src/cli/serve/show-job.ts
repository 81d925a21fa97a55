import { SupervisedJob } from '../../cluster/jobmanager/process/supervised-job.ts'
import { ServedJobControl } from '../../cluster/rest/job/served-job-control.ts'
import { systemClock } from '../../core/clock.ts'
import type { ServedJob } from '../../jobs/served-job.ts'
import { type ServeRestOptions, serveRest } from './rest.ts'

/** Options of `showJob`. */
export interface ShowJobOptions extends ServeRestOptions {
  readonly report: (event: Record<string, unknown>, sentence: string) => void
}

/** A job that can be seen and controlled from outside its process. */
export interface ShownJob extends AsyncDisposable {
  /** Resolves when the JobManager of the job is gone, so that the job must end. */
  readonly lost: Promise<void>
}

/**
 * Connects a job with the JobManager that started this process; without one, opens the job's own REST
 * interface and reports its address. Throws as `serveRest`.
 */
export async function showJob(job: ServedJob, options: ShowJobOptions): Promise<ShownJob> {
  const { io, report, titles } = options
  if (io.jobManager !== undefined) {
    return new SupervisedJob(io.jobManager.channel, {
      control: new ServedJobControl(job, systemClock, titles),
      onStatus: (listener) => job.execution.onStatus(listener),
    })
  }
  const rest = await serveRest(job, options)
  if (rest !== undefined) report({ event: 'rest', url: rest.url }, `REST interface on ${rest.url}`)
  return {
    lost: new Promise(() => {}),
    [Symbol.asyncDispose]: async () => await rest?.[Symbol.asyncDispose](),
  }
}
