import { systemClock } from '../../core/clock.ts'
import { ResourceStack } from '../../core/lifetime/resource-stack.ts'
import {
  EVENT_ID,
  isEventId,
  MOST_EVENTS,
  type SameEventOptions,
} from '../../jobs/learning/seen-events.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import type { LearnFrom } from '../../jobs/serve/first-observations.ts'
import type { ServeLearningOptions } from '../../jobs/serve/learning.ts'
import type { ServedJob } from '../../jobs/served-job.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { SlotThreads } from '../../runtime/slot/threads.ts'
import {
  type CommandIo,
  type Flags,
  needs,
  type OptionSpec,
  unlessInterrupted,
} from '../command/command.ts'
import { kindOf } from '../flag-kinds/flag-kind.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { word } from '../flag-kinds/words.ts'
import { topicsPlaceOf } from '../flags/kafka.ts'
import { listenerOf } from '../flags/listener.ts'
import { configurationOf, slotsOf } from '../flags/serving.ts'
import { counted } from '../text/counted.ts'
import { type JobLog, jobLogOf } from './job-log.ts'
import { droppedReporter } from './report-dropped.ts'
import { reportRestarts } from './report-restarts.ts'
import { requireServingFiles } from './required-files.ts'
import { showWhenRunning } from './show-when-running.ts'
import { liveEvent, liveText } from './version-live.ts'
import { writeBackMsOf } from './write-back.ts'

/** Parts in which the commands that learn differ. */
export interface LearnCommand {
  /** `learn als` */
  readonly name: string
  /** Module of the job. */
  readonly module: URL
  readonly flags: Flags
  readonly io: CommandIo
  /** Text of the size of a version. */
  sizeOf(marker: ModelVersionMarker): string
  start(options: ServeLearningOptions): Promise<ServedJob>
}

/** Runs a learning job until it ends or Ctrl-C stops it; returns the exit code. */
export async function runLearning(command: LearnCommand): Promise<number> {
  const { name, flags, io } = command
  await requireServingFiles(flags, io)
  const log = jobLogOf(name, flags, io)
  const report = (event: Record<string, unknown>, sentence: string): void => {
    if (flags.boolean('json')) io.out(JSON.stringify(event))
    else log.info(sentence)
  }
  await using job = await unlessInterrupted(startLearning(command, log, report), io)
  reportRestarts(job, log)
  report(
    { event: 'started', port: job.port },
    `serving queries on ${flags.string('host')}:${job.port}; press Ctrl-C to stop`,
  )
  await using shown = await showWhenRunning(job, flags, { name, io, report })
  await Promise.race([job.execution.result, io.interrupted, shown.lost])
  const { endJob } = await import('./end-job.ts')
  await endJob(job, report)
  return 0
}

/**
 * Starts the job. Its slot threads start first, so that they load their code while this thread loads
 * its own; they are closed if the job does not start.
 */
async function startLearning(
  { module, flags, io, sizeOf, start }: LearnCommand,
  log: JobLog,
  report: (event: Record<string, unknown>, sentence: string) => void,
): Promise<ServedJob> {
  const slots = slotsOf(flags)
  await using started = new ResourceStack()
  const threads = new SlotThreads(module, slots)
  started.defer(() => threads.close())
  const job = await start({
    threads,
    data: dataDirectory(flags.string('data-dir')),
    place: topicsPlaceOf(flags),
    topic: flags.string('topic'),
    slots,
    queryThreads: flags.number('query-threads'),
    access: listenerOf(flags, io),
    port: flags.number('port'),
    configuration: configurationOf(flags),
    onLive: (version, marker, rows) =>
      report(
        liveEvent(version, marker, rows),
        liveText(version, marker, { rows, size: sizeOf(marker) }),
      ),
    writeBackMs: writeBackMsOf(flags),
    deleteDeltas: flags.boolean('delete-deltas'),
    onWrittenBack: ({ version, rows }) =>
      report(
        { event: 'written-back', version, rows },
        `wrote ${counted(rows, 'learned row')} of version ${version} back to the model topic`,
      ),
    onLearning: (version, note) =>
      report(
        { event: 'learning', version, ...(note === undefined ? {} : { note }) },
        `learning on version ${version}${note === undefined ? '' : `; ${note}`}`,
      ),
    learnFrom: learnFromOf(flags),
    onWarning: (warning) => log.warn(`warning: ${warning}`),
    onDropped: droppedReporter(log, systemClock),
  })
  started.move()
  return job
}

const LEARN_FROM: readonly LearnFrom[] = ['start', 'end']

/** The flag of a learner that says where it begins. */
export const LEARN_FROM_OPTION: Readonly<Record<string, OptionSpec>> = {
  'learn-from': {
    type: 'string',
    value: word(LEARN_FROM, 'PLACE'),
    help: 'Where a job without a checkpoint begins in the observations, if the version does not say it: start or end (default: after those that it was trained on; the job asks where it cannot tell which ones these are)',
  },
}

/** Flags of a learner whose producer may send an observation more than once. */
export const SAME_EVENT_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'event-id': {
    type: 'string',
    value: kindOf({ sort: 'word', shown: 'ID', takes: EVENT_ID }, isEventId),
    help: 'What names the event of a record: header:NAME, or line for its text. A record whose event came before is not learned (default: each is learned)',
  },
  'event-window': {
    type: 'string',
    needs: [needs('event-id')],
    value: wholeNumber({ min: 1, max: MOST_EVENTS }),
    help: 'Newest events of a partition that a record is compared with (default 10000)',
  },
}

/** Whether learning may stop. */
export const NEVER_STOP_OPTION: Readonly<Record<string, OptionSpec>> = {
  'never-stop': {
    type: 'boolean',
    help: 'Go on learning also while it has certainly made the predictions worse (default: learning stops, and the version is served as it was published)',
  },
}

/** The options of a job from `SAME_EVENT_OPTIONS`. */
export function sameEventFlags(flags: Flags): SameEventOptions {
  return {
    eventId: flags.optional('event-id'),
    eventWindow: flags.optionalNumber('event-window'),
  }
}

function learnFromOf(flags: Flags): LearnFrom | undefined {
  if (flags.optional('learn-from') === undefined) return undefined
  return flags.choice('learn-from', LEARN_FROM)
}
