import { systemClock } from '../core/clock.ts'
import type { ServedJob } from '../jobmanager/served-job.ts'
import { type CommandIo, type Flags, InterruptedError } from './command.ts'
import type { DataDirectory } from './data-directory.ts'
import { topicsPlaceOf } from './kafka-flags.ts'
import { LOOP_RULE } from './quickstart-loop.ts'
import { isLooping } from './quickstart-ratings.ts'
import type { Tell } from './quickstart-text.ts'
import { configurationOf } from './run.ts'
import { serveAls } from './serve-als.ts'
import { serveLearningAls } from './serve-learning-als.ts'
import { tellRestarts } from './tell-restarts.ts'

/** What serving works with. */
export interface ServeContext {
  readonly flags: Flags
  readonly data: DataDirectory
  readonly io: CommandIo
  readonly tell: Tell
}

/** The job of the quickstart and how it began. */
export interface QuickstartServing {
  readonly liveMs: number
  /** Checkpoint that the job went on from, 0 for none. */
  readonly restoredCheckpoint: number
}

/** A served job and what it learns on. */
export interface StartedServing extends QuickstartServing {
  readonly job: ServedJob
  /** The version that ratings are learned on now, 0 for none. */
  readonly learningOn: () => number
}

/**
 * Starts `online-als`, or without the loop `als-serving`, and waits until the version answers; Ctrl-C
 * ends the wait.
 */
export async function serve(version: number, context: ServeContext): Promise<StartedServing> {
  const { flags, io, tell } = context
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
  tellRestarts(job, 'job', io)
  try {
    const interrupted = io.interrupted.then(() => {
      throw new InterruptedError('interrupted before the model was live')
    })
    await Promise.race([job.execution.waitFor('RUNNING'), interrupted])
    const restoredCheckpoint = job.execution.board.completedCheckpoint()
    await Promise.race([live.promise, interrupted, job.execution.result])
    const liveMs = Math.round(systemClock.monotonicMs() - startMs)
    const origin = restoredCheckpoint === 0 ? 'the topic' : `checkpoint ${restoredCheckpoint}`
    const name = isLooping(flags) ? 'online-als' : 'als-serving'
    tell(
      'serve',
      `job ${name} keeps the rows as keyed state in ${flags.integer('slots', 1)} slots: version ${version} live ${liveMs.toLocaleString('en-US')} ms after its start, from ${origin}`,
    )
    return { job, liveMs, restoredCheckpoint, learningOn: () => learning }
  } catch (error) {
    await job.close()
    throw error
  }
}

interface JobListeners {
  readonly onLive: (version: number) => void
  readonly onLearning: (version: number) => void
}

function startJob(
  { flags, data }: ServeContext,
  { onLive, onLearning }: JobListeners,
): Promise<ServedJob> {
  const token = flags.optional('token')
  const options = {
    data,
    place: topicsPlaceOf(flags),
    topic: flags.string('topic'),
    slots: flags.integer('slots', 1),
    queryThreads: flags.integer('query-threads', 1, 64),
    host: flags.string('host'),
    port: flags.boolean('once') ? 0 : flags.integer('port', 0, 65_535),
    configuration: configurationOf(flags),
    onLive,
    ...(token === undefined ? {} : { token }),
  }
  if (!isLooping(flags)) return serveAls(options)
  const job = { observations: flags.string('observations'), rule: LOOP_RULE }
  return serveLearningAls({ ...options, job, onLearning })
}
