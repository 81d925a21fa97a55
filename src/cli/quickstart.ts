import { systemClock } from '../core/clock.ts'
import type { ServedJob } from '../jobmanager/served-job.ts'
import { ratingStatistics } from '../training/ratings-table.ts'
import { ALS_OPTIONS } from './als-training-flags.ts'
import { type Command, type CommandIo, Flags, InterruptedError } from './command.ts'
import { DATA_DIR_OPTION, type DataDirectory, dataDirectory } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf, topicsPlaceOf } from './kafka-flags.ts'
import { measureServed } from './quickstart-measurements.ts'
import { observedRatings } from './quickstart-observations.ts'
import { type QuickstartRatings, RATINGS_OPTIONS, ratingsOf } from './quickstart-ratings.ts'
import { invitationText, type Tell, teller } from './quickstart-text.ts'
import { ensureVersion } from './quickstart-version.ts'
import { configurationOf, SERVING_OPTIONS } from './run.ts'
import { serveAls } from './serve-als.ts'

/** `npm start`: the main job before the reader's eyes. */
export const quickstartCommand: Command = {
  name: 'quickstart',
  summary: 'Train, publish, serve, query and evaluate a model, then keep serving (npm start)',
  options: {
    ...RATINGS_OPTIONS,
    once: { type: 'boolean', help: 'End after the evaluation; the query port is any free one' },
    topic: { type: 'string', value: 'NAME', default: 'als-model', help: 'Model topic' },
    'ratings-topic': {
      type: 'string',
      value: 'NAME',
      default: 'ratings',
      help: 'Observations topic, with --brokers',
    },
    ...ALS_OPTIONS,
    ...SERVING_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `With --json, standard output holds one JSON object and what happens is told on standard error.
With --brokers the ratings go through an observations topic and the model through a topic of Kafka;
ratings that others write there (key the user, value user,item,rating) are learnt at the next start.

Examples:
  npm start
  npm start -- --ratings u.data
  npm start -- --ratings u1.base --test u1.test --once --json
  npm start -- --brokers localhost:9092`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const json = flags.boolean('json')
    const tell = teller(io, json)
    const data = dataDirectory(flags.string('data-dir'))
    const ratings = await ratingsOf(flags)
    const { test } = ratings
    const count = (n: number): string => n.toLocaleString('en-US')
    tell(
      'ratings',
      `${count(ratings.train.size)} to learn from, ${count(test.size)} held out (${ratings.origin})`,
    )
    await using topics = await topicsOf(flags)
    const train = await observedRatings(ratings.train, { flags, topics, tell })
    const version = await ensureVersion(train, { flags, topics, io, tell })
    const { job, ...serving } = await serve(version.version, { flags, data, io, tell })
    await using _ = job
    const { result, ...found } = await measureServed({ port: job.port, flags, train, test, tell })
    if (json) io.out(JSON.stringify({ ...version, ...serving, ...result }))
    if (!flags.boolean('once')) {
      invite(flags, tell, { job, ratings, ...found })
      await Promise.race([io.interrupted, job.execution.result])
    }
    await stop(job, flags, tell)
    return 0
  },
}

interface ServeContext {
  readonly flags: Flags
  readonly data: DataDirectory
  readonly io: CommandIo
  readonly tell: Tell
}

/** Starts `als-serving` and waits until the version answers; Ctrl-C ends the wait. */
async function serve(
  version: number,
  { flags, data, io, tell }: ServeContext,
): Promise<{
  readonly job: ServedJob
  readonly liveMs: number
  /** Checkpoint that the job went on from, 0 for none. */
  readonly restoredCheckpoint: number
}> {
  const startMs = systemClock.monotonicMs()
  const live = Promise.withResolvers<void>()
  const token = flags.optional('token')
  const job = await serveAls({
    data,
    place: topicsPlaceOf(flags),
    topic: flags.string('topic'),
    slots: flags.integer('slots', 1),
    queryThreads: flags.integer('query-threads', 1, 64),
    host: flags.string('host'),
    port: flags.boolean('once') ? 0 : flags.integer('port', 0, 65_535),
    configuration: configurationOf(flags),
    onLive: (reached) => {
      if (reached >= version) live.resolve()
    },
    ...(token === undefined ? {} : { token }),
  })
  try {
    const interrupted = io.interrupted.then(() => {
      throw new InterruptedError('interrupted before the model was live')
    })
    await Promise.race([job.execution.waitFor('RUNNING'), interrupted])
    const restoredCheckpoint = job.execution.board.completedCheckpoint()
    await Promise.race([live.promise, interrupted, job.execution.result])
    const liveMs = Math.round(systemClock.monotonicMs() - startMs)
    const origin = restoredCheckpoint === 0 ? 'the topic' : `checkpoint ${restoredCheckpoint}`
    tell(
      'serve',
      `job als-serving keeps the rows as keyed state in ${flags.integer('slots', 1)} slots: version ${version} live ${liveMs.toLocaleString('en-US')} ms after its start, from ${origin}`,
    )
    return { job, liveMs, restoredCheckpoint }
  } catch (error) {
    await job.close()
    throw error
  }
}

interface InviteContext {
  readonly job: ServedJob
  readonly ratings: QuickstartRatings
  readonly user: string
  readonly items: readonly string[]
}

function invite(flags: Flags, tell: Tell, { job, ratings, user, items }: InviteContext): void {
  const folder = flags.string('data-dir')
  tell('', '')
  tell(
    'serving',
    `ALS_MODEL on ${flags.string('host')}:${job.port} until Ctrl-C; in another terminal:`,
  )
  const lines = invitationText({
    port: job.port,
    host: flags.string('host'),
    user,
    items,
    testFile: ratings.testFile,
    range: ratingStatistics(ratings.train),
  })
  for (const line of lines) tell('', line)
  const again =
    flags.optional('brokers') === undefined
      ? `finds all of it again in ${folder}; delete the folder to begin anew.`
      : `finds all of it again, in Kafka and in ${folder}; name another --topic to begin anew.`
  tell('', `The next start ${again}`)
}

async function stop(job: ServedJob, flags: Flags, tell: Tell): Promise<void> {
  const before = job.execution.board.completedCheckpoint()
  await job.close()
  const last = job.execution.board.completedCheckpoint()
  const kept = last > before ? `checkpoint ${last} taken` : `checkpoint ${last} kept`
  tell('stopped', `${kept} in ${flags.string('data-dir')}; the next start goes on from it`)
}
