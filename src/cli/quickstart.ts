import { existsSync } from 'node:fs'
import { systemClock } from '../core/clock.ts'
import type { ServedJob } from '../jobmanager/served-job.ts'
import { ModelRegistry } from '../jobs/model-registry.ts'
import { ratingStatistics } from '../training/ratings-table.ts'
import { ALS_OPTIONS } from './als-training-flags.ts'
import { type Command, type CommandIo, Flags, InterruptedError } from './command.ts'
import { DATA_DIR_OPTION, dataDirectory } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf, topicsPlaceOf } from './kafka-flags.ts'
import { registryPlace } from './model-registry-flags.ts'
import { liveVersion } from './quickstart-live.ts'
import { type LoopResult, type LoopRunContext, runLoop } from './quickstart-loop-run.ts'
import { measureServed } from './quickstart-measurements.ts'
import { observedRatings } from './quickstart-observations.ts'
import {
  driftedTestFile,
  type QuickstartRatings,
  RATINGS_OPTIONS,
  ratingsOf,
} from './quickstart-ratings.ts'
import { serve } from './quickstart-serving.ts'
import { invitationText, type Tell, teller } from './quickstart-text.ts'
import { ensureVersion } from './quickstart-version.ts'
import { SERVING_OPTIONS } from './run.ts'

/** `npm start`: the main job before the reader's eyes. */
export const quickstartCommand: Command = {
  name: 'quickstart',
  summary:
    'Train, publish, serve, query and evaluate a model, learn, retrain and roll back (npm start)',
  options: {
    ...RATINGS_OPTIONS,
    once: { type: 'boolean', help: 'End after the loop; the query port is any free one' },
    topic: { type: 'string', value: 'NAME', default: 'als-model', help: 'Model topic' },
    'ratings-topic': {
      type: 'string',
      value: 'NAME',
      default: 'ratings',
      help: 'Observations topic, with --brokers',
    },
    loop: {
      type: 'boolean',
      help: 'Learning, drift, retraining, promotion and rollback with --ratings too',
    },
    'no-loop': { type: 'boolean', help: 'Leave them out with generated ratings' },
    observations: {
      type: 'string',
      value: 'NAME',
      default: 'observations',
      help: 'Topic that is learned from as it grows',
    },
    'loop-ratings': {
      type: 'string',
      value: 'N',
      default: '90000',
      help: 'Ratings that the loop streams at most',
    },
    ...ALS_OPTIONS,
    ...SERVING_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `With --json, standard output holds one JSON object and what happens is told on standard error.
With --brokers the ratings go through an observations topic and the model through a topic of Kafka;
ratings that others write there (key the user, value user,item,rating) are learnt at the next start.

Then the loop runs once: ratings are streamed into --observations and learned, the users' tastes turn, a
detector finds it, a candidate is trained, checked and promoted, and rolled back. --no-loop leaves it
out and serves the model without learning. With --ratings it is left out unless --loop is given, for a
file has no drift: the file's newest tenth is streamed, and then a made-up drift is.

Examples:
  npm start
  npm start -- --ratings u.data
  npm start -- --ratings u1.base --test u1.test --once --json
  npm start -- --ratings u.data --loop
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
    const place = registryPlace(topicsPlaceOf(flags), data.root)
    const registry = new ModelRegistry({ place, clock: systemClock })
    const topic = flags.string('topic')
    const live = await liveVersion(registry, topics, { topic, base: version })
    const { job, learningOn, ...serving } = await serve(live, { flags, data, io, tell })
    await using _ = job
    const measuring = measureServed({ port: job.port, flags, train, test, tell })
    const { result, ...found } = await unlessInterrupted(measuring, io)
    const { stream } = ratings
    const served = { job, learningOn, live }
    const context = { flags, io, tell, data, topics, registry, train, base: version, ...served }
    const loop = stream === undefined ? undefined : await loopOf({ ...context, stream })
    if (json) {
      const figures = loop === 'interrupted' ? {} : loop
      io.out(JSON.stringify({ ...version, ...serving, ...result, ...figures }))
    }
    if (!flags.boolean('once') && loop !== 'interrupted') {
      invite(flags, tell, { job, ratings, ...found })
      await Promise.race([io.interrupted, job.execution.result])
    }
    await stop(job, flags, tell)
    return 0
  },
}

/** Ctrl-C ends the wait. */
function unlessInterrupted<T>(work: Promise<T>, io: CommandIo): Promise<T> {
  const interrupted = io.interrupted.then(() => {
    throw new InterruptedError('interrupted while it measured')
  })
  return Promise.race([work, interrupted])
}

/** What `--json` says of the loop; Ctrl-C in it ends the quickstart in good order. */
async function loopOf(
  context: LoopRunContext,
): Promise<{ readonly loop: LoopResult } | 'interrupted'> {
  try {
    return { loop: await runLoop(context) }
  } catch (error) {
    if (!(error instanceof InterruptedError)) throw error
    context.tell('', 'the next start goes on with the loop where it was')
    return 'interrupted'
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
  const drifted = driftedTestFile(flags)
  const lines = invitationText({
    port: job.port,
    host: flags.string('host'),
    user,
    items,
    // The model that the loop left knows the world after the drift.
    testFile: existsSync(drifted) ? drifted : ratings.testFile,
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
