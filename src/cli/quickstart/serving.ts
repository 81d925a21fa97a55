import { systemClock } from '../../core/clock.ts'
import { ResourceStack } from '../../core/lifetime/resource-stack.ts'
import type { QueryAccessOptions } from '../../jobs/query-access.ts'
import { serveAlsJob } from '../../jobs/serve/als.ts'
import type { DataDirectory } from '../../jobs/serve/data-directory.ts'
import { learnAlsJob } from '../../jobs/serve/learning-als.ts'
import type { ServedJob } from '../../jobs/served-job.ts'
import type { OnlineRuleOptions } from '../../models/als/online/rules.ts'
import { type CommandIo, type Flags, InterruptedError } from '../command/command.ts'
import { topicsPlaceOf } from '../flags/kafka.ts'
import { configurationOf, slotsOf } from '../flags/serving.ts'
import { JobLog } from '../serve/job-log.ts'
import { reportRestarts } from '../serve/report-restarts.ts'
import { isLooping } from './ratings.ts'
import { count, type Report } from './text.ts'

/** The rule by which the job and a candidate learn ratings. */
export const LOOP_RULE: OnlineRuleOptions = { rule: 'sgd' }

/** Options of `serve`. */
export interface ServeContext {
  readonly flags: Flags
  readonly data: DataDirectory
  readonly io: CommandIo
  readonly report: Report
  /** Access to the port, with a token of this process. */
  readonly access: QueryAccessOptions
}

/** Start of the quickstart's job. */
export interface QuickstartServing {
  readonly liveMs: number
  /** Checkpoint that the job was restored from, 0 for none. */
  readonly restoredCheckpoint: number
}

/** A job that serves, and the version that it learns on. */
export interface StartedServing extends QuickstartServing {
  readonly job: ServedJob
  /** The version on which ratings are learned now, 0 for none. */
  readonly learningOn: () => number
}

/**
 * Starts `online-als` (without the loop `als-serving`) and waits until the version answers. Throws
 * InterruptedError after Ctrl-C.
 */
export async function serve(version: number, context: ServeContext): Promise<StartedServing> {
  const { flags, io, report } = context
  const startMs = systemClock.monotonicMs()
  const live = Promise.withResolvers<void>()
  let learning = 0
  const job = await startJob(context, {
    onLive: (reached) => {
      if (reached === version) live.resolve()
    },
    onLearning: (on) => {
      learning = on
    },
  })
  await using started = new ResourceStack()
  started.defer(() => job.close())
  reportRestarts(job, new JobLog(io, { name: 'job', nowMs: () => systemClock.nowMs() }))
  const restoredCheckpoint = await untilLive(job, live.promise, io)
  const liveMs = Math.round(systemClock.monotonicMs() - startMs)
  const origin =
    restoredCheckpoint === 0
      ? 'read from the topic'
      : `restored from checkpoint ${restoredCheckpoint}`
  const name = isLooping(flags) ? 'online-als' : 'als-serving'
  report(
    'serve',
    `job ${name} keeps the rows as keyed state in ${slotsOf(flags)} slots; version ${version} was live after ${count(liveMs)} ms, ${origin}`,
  )
  started.move()
  return { job, liveMs, restoredCheckpoint, learningOn: () => learning }
}

/** Waits for `live`; returns the checkpoint that the job was restored from, 0 for none. */
async function untilLive(job: ServedJob, live: Promise<void>, io: CommandIo): Promise<number> {
  const interrupted = io.interrupted.then(() => {
    throw new InterruptedError('interrupted before the model was live')
  })
  await Promise.race([job.execution.waitFor('RUNNING'), interrupted])
  const restoredCheckpoint = job.execution.board.completedCheckpoint()
  await Promise.race([live, interrupted, job.execution.result])
  return restoredCheckpoint
}

interface JobListeners {
  readonly onLive: (version: number) => void
  readonly onLearning: (version: number) => void
}

function startJob(
  { flags, data, access }: ServeContext,
  { onLive, onLearning }: JobListeners,
): Promise<ServedJob> {
  const options = {
    data,
    place: topicsPlaceOf(flags),
    topic: flags.string('topic'),
    slots: slotsOf(flags),
    queryThreads: flags.number('query-threads'),
    access,
    port: flags.boolean('once') ? 0 : flags.number('port'),
    configuration: configurationOf(flags),
    onLive,
  }
  if (!isLooping(flags)) return serveAlsJob(options)
  const job = { observations: flags.string('observations'), rule: LOOP_RULE }
  return learnAlsJob({ ...options, job, onLearning })
}
