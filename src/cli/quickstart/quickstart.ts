import { existsSync } from 'node:fs'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import type { ServedJob } from '../../jobs/served-job.ts'
import { ratingStatistics } from '../../training/data/ratings-table.ts'
import {
  type Command,
  Flags,
  InterruptedError,
  needs,
  unlessInterrupted,
} from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { topicName } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from '../flags/kafka.ts'
import { listenerOf, withOwnToken } from '../flags/listener.ts'
import { registryOf } from '../flags/model-registry.ts'
import { SERVING_OPTIONS } from '../flags/serving.ts'
import { requireServingFiles } from '../serve/required-files.ts'
import { type LoopOptions, type LoopResult, runLoop } from './loop.ts'
import { measureServed } from './measurements.ts'
import {
  driftedTestFile,
  isLooping,
  observedRatings,
  type QuickstartRatings,
  RATINGS_OPTIONS,
  ratingsOf,
} from './ratings.ts'
import { serve } from './serving.ts'
import { count, invitationText, type Report, reportOn } from './text.ts'
import { TRAINING_OPTIONS } from './training.ts'
import { ensureVersion, liveVersion } from './version.ts'

/** `weir quickstart` (`npm start`): shows training, serving, learning and retraining in one run. */
export const quickstartCommand: Command = {
  name: 'quickstart',
  summary:
    'Train, publish, serve, query and evaluate a model, then learn, retrain and roll back (npm start)',
  stopsItself: true,
  options: {
    ...RATINGS_OPTIONS,
    once: { type: 'boolean', help: 'Exit after the loop; use a random free query port' },
    topic: { type: 'string', value: topicName, default: 'als-model', help: 'Model topic' },
    'ratings-topic': {
      type: 'string',
      needs: [needs('brokers')],
      value: topicName,
      default: 'ratings',
      help: 'With --brokers: topic of the ratings to train on',
    },
    loop: {
      type: 'boolean',
      excludes: ['no-loop'],
      help: 'With --ratings: run the loop (learning, drift, retraining, promotion, rollback)',
    },
    'no-loop': { type: 'boolean', help: 'With generated ratings: skip the loop' },
    observations: {
      type: 'string',
      value: topicName,
      default: 'observations',
      help: 'Topic of ratings to learn online',
    },
    'loop-ratings': {
      type: 'string',
      value: wholeNumber({ min: 300, max: 10_000_000 }),
      default: '90000',
      help: 'Largest number of ratings that the loop streams',
    },
    ...TRAINING_OPTIONS,
    ...SERVING_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `With --json, standard output has one JSON object; the progress goes to standard error. With --brokers, the
ratings and the model go through topics of Kafka. Ratings that other programs write to --ratings-topic
(key: user, value: user,item,rating) are used for training at the next start.

After the training the loop runs once. It streams ratings to --observations, where the job learns them. Then
user preferences change, a detector notices the drift, a candidate is trained, checked and promoted, and
the promotion is rolled back. --no-loop skips the loop and serves the model without learning. With
--ratings the loop is skipped by default; use --loop to stream the newest 10 % of the file, followed by
simulated drift.

In a checkout, "npm start --" is the same as "weir quickstart".

Examples:
  weir quickstart
  weir quickstart --ratings u.data
  weir quickstart --ratings u1.base --test u1.test --once --json
  weir quickstart --ratings u.data --loop
  weir quickstart --brokers localhost:9092`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const json = flags.boolean('json')
    const report = reportOn(io, json)
    await requireServingFiles(flags, io)
    const data = dataDirectory(flags.string('data-dir'))
    const access = withOwnToken(listenerOf(flags, io))
    const ratings = await unlessInterrupted(ratingsOf(flags, io), io)
    const { test } = ratings
    report(
      'ratings',
      `${count(ratings.train.size)} for training, ${count(test.size)} held out (${ratings.origin})`,
    )
    await using topics = await unlessInterrupted(topicsOf(flags), io)
    const observed = observedRatings(ratings.train, { flags, topics, report })
    const train = await unlessInterrupted(observed, io)
    const version = await unlessInterrupted(ensureVersion(train, { flags, topics, io, report }), io)
    const registry = registryOf(flags)
    const topic = flags.string('topic')
    const asked = liveVersion(registry, topics, { topic, base: version })
    const live = await unlessInterrupted(asked, io)
    const { job, learningOn, ...serving } = await serve(live, { flags, data, io, report, access })
    await using _ = job
    await using __ = await showDashboard(job, flags, { io, report })
    const measuring = measureServed({ port: job.port, access, flags, train, test, report })
    const { result, ...found } = await unlessInterrupted(measuring, io)
    const { stream } = ratings
    const served = { job, access, learningOn, live }
    const context = { flags, io, report, data, topics, registry, train, base: version, ...served }
    const loop = stream === undefined ? undefined : await loopOf({ ...context, stream })
    if (json) {
      const figures = loop === 'interrupted' ? {} : loop
      io.out(JSON.stringify({ ...version, ...serving, ...result, ...figures }))
    }
    if (!flags.boolean('once') && loop !== 'interrupted') {
      invite(flags, report, { job, ratings, ...found })
      await Promise.race([io.interrupted, job.execution.result])
    }
    await stop(job, flags, report)
    return 0
  },
}

/** Opens the REST interface with the dashboard and reports its address; a run with --once opens none. */
async function showDashboard(
  job: ServedJob,
  flags: Flags,
  { io, report }: Pick<LoopOptions, 'io' | 'report'>,
): Promise<AsyncDisposable | undefined> {
  if (flags.boolean('once')) return undefined
  const { serveRest, titlesOf } = await import('../serve/rest.ts')
  const rest = await serveRest(job, { name: 'quickstart', io, titles: titlesOf(flags) })
  if (rest === undefined) return undefined
  const page = isLooping(flags) ? 'learning' : 'graph'
  report('dashboard', `${rest.url}/#/jobs/${job.execution.jobId}/${page}`)
  return rest
}

/** Runs the loop; after Ctrl-C the quickstart stops cleanly. */
async function loopOf(
  options: LoopOptions,
): Promise<{ readonly loop: LoopResult } | 'interrupted'> {
  try {
    return { loop: await runLoop(options) }
  } catch (error) {
    if (!(error instanceof InterruptedError)) throw error
    options.report('', 'interrupted; the next start continues the loop from here')
    return 'interrupted'
  }
}

interface InviteContext {
  readonly job: ServedJob
  readonly ratings: QuickstartRatings
  readonly user: string
  readonly items: readonly string[]
}

function invite(flags: Flags, report: Report, { job, ratings, user, items }: InviteContext): void {
  const folder = flags.string('data-dir')
  report('', '')
  report(
    'serving',
    `ALS_MODEL on ${flags.string('host')}:${job.port} until Ctrl-C; try in another terminal:`,
  )
  const drifted = driftedTestFile(flags)
  const lines = invitationText({
    port: job.port,
    host: flags.string('host'),
    user,
    items,
    // After the loop the model fits the ratings after the drift.
    testFile: existsSync(drifted) ? drifted : ratings.testFile,
    range: ratingStatistics(ratings.train),
  })
  for (const line of lines) report('', line)
  const again =
    flags.optional('brokers') === undefined
      ? `${folder}; delete the folder to start from scratch.`
      : `Kafka and ${folder}; use another --topic to start from scratch.`
  report('', `The next start reuses the data in ${again}`)
}

async function stop(job: ServedJob, flags: Flags, report: Report): Promise<void> {
  const before = job.execution.board.completedCheckpoint()
  await job.close()
  const last = job.execution.board.completedCheckpoint()
  const done = last > before ? 'taken' : 'kept'
  report(
    'stopped',
    `checkpoint ${last} ${done} in ${flags.string('data-dir')}; the next start continues from it`,
  )
}
