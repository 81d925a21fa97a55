import { createHash } from 'node:crypto'
import { WeirClient } from '../client/weir-client.ts'
import { EmbeddedLog } from '../connectors/log/embedded-log.ts'
import { hasTopic } from '../connectors/log/topic-config.ts'
import { systemClock } from '../core/clock.ts'
import type { ServedJob } from '../jobmanager/served-job.ts'
import { ALS_MODEL } from '../jobs/als-serving-function.ts'
import { evaluateServed } from '../jobs/evaluate-served.ts'
import { publishAls } from '../jobs/publish-als.ts'
import type { ModelVersionMarker } from '../models/model-version-marker.ts'
import type { RatingRange } from '../models/rating.ts'
import type { ErrorSummary } from '../training/metrics.ts'
import { type RatingsTable, ratingStatistics } from '../training/ratings-table.ts'
import { ALS_OPTIONS, alsOptionsOf, trainWithProgress } from './als-training-flags.ts'
import { type Command, type CommandIo, Flags } from './command.ts'
import { DATA_DIR_OPTION, type DataDirectory, dataDirectory } from './data-directory.ts'
import { readyVersions } from './model-versions.ts'
import { measurePredictions, type PredictionTimes } from './prediction-times.ts'
import { RATINGS_OPTIONS, ratingsOf } from './quickstart-ratings.ts'
import { configurationOf, SERVING_OPTIONS } from './run.ts'
import { serveAls } from './serve-als.ts'

const TOPIC = 'als-model'

/** `npm start`: the main job before the reader's eyes. */
export const quickstartCommand: Command = {
  name: 'quickstart',
  summary: 'Train, publish, serve, query and evaluate a model, then keep serving (npm start)',
  options: {
    ...RATINGS_OPTIONS,
    once: { type: 'boolean', help: 'End after the evaluation' },
    ...ALS_OPTIONS,
    ...SERVING_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `Examples:
  npm start
  npm start -- --ratings u.data
  npm start -- --ratings u1.base --test u1.test --once --json`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const tell = flags.boolean('json') ? io.err : io.out
    const data = dataDirectory(flags.string('data-dir'))
    const { train, test, origin } = await ratingsOf(flags)
    tell(`ratings     ${train.size} to learn, ${test.size} held out (${origin})`)
    const trained = await ensureVersion(train, { flags, data, io, tell })
    const startMs = systemClock.monotonicMs()
    const live = Promise.withResolvers<number>()
    await using job = await startServing(flags, data, live.resolve)
    void job.execution.result.catch(live.reject)
    const version = await live.promise
    const liveMs = systemClock.monotonicMs() - startMs
    tell(`serving     version ${version} live after ${liveMs.toFixed(0)} ms on port ${job.port}`)
    const result = await measure({ job, flags, test, train, tell })
    const summary = { ...trained, version, liveMs: Math.round(liveMs), ...result }
    if (flags.boolean('json')) io.out(JSON.stringify(summary))
    if (flags.boolean('once')) return 0
    tell(invitation(flags, job.port))
    await Promise.race([io.interrupted, job.execution.result])
    tell('stopping    taking a last checkpoint')
    return 0
  },
}

interface TrainContext {
  readonly flags: Flags
  readonly data: DataDirectory
  readonly io: CommandIo
  readonly tell: (line: string) => void
}

/** Trains and publishes, unless the same ratings and parameters gave a version before. */
async function ensureVersion(
  train: RatingsTable,
  { flags, data, io, tell }: TrainContext,
): Promise<Record<string, unknown>> {
  const options = alsOptionsOf(flags)
  const fingerprint = fingerprintOf(train, options as Record<string, unknown>)
  const versions: readonly ModelVersionMarker[] = hasTopic(data.log, TOPIC)
    ? await readyVersions(data.log, TOPIC)
    : []
  const latest = versions.at(-1)
  if (latest?.hyperparameters['fingerprint'] === fingerprint) {
    tell(`found       version ${latest.version}, trained on the same ratings before`)
    return { users: latest.users, items: latest.items, trained: false }
  }
  const startMs = systemClock.monotonicMs()
  const model = await trainWithProgress(train, options, io)
  const trainSeconds = (systemClock.monotonicMs() - startMs) / 1000
  tell(
    `trained     ${model.users.length} users x ${model.items.length} items, ${model.factors} factors in ${trainSeconds.toFixed(2)} s`,
  )
  const version = (latest?.version ?? 0) + 1
  await using log = await EmbeddedLog.open(data.log)
  await publishAls(model, {
    log,
    topic: TOPIC,
    version,
    clock: systemClock,
    hyperparameters: { fingerprint, factors: model.factors },
  })
  tell(`published   version ${version} to topic ${TOPIC}`)
  return { users: model.users.length, items: model.items.length, trained: true, trainSeconds }
}

function fingerprintOf(table: RatingsTable, options: Record<string, unknown>): string {
  const hash = createHash('sha256').update(JSON.stringify(options))
  for (const ids of [table.users, table.items]) hash.update(ids.join('\n'))
  for (const column of [table.user, table.item, table.rating]) hash.update(column)
  return hash.digest('hex').slice(0, 16)
}

function startServing(
  flags: Flags,
  data: DataDirectory,
  onLive: (version: number) => void,
): Promise<ServedJob> {
  const token = flags.optional('token')
  return serveAls({
    data,
    topic: TOPIC,
    slots: flags.integer('slots', 1),
    queryThreads: flags.integer('query-threads', 1, 64),
    host: flags.string('host'),
    port: flags.boolean('once') ? 0 : flags.integer('port', 0, 65_535),
    configuration: configurationOf(flags),
    onLive,
    ...(token === undefined ? {} : { token }),
  })
}

interface MeasureContext {
  readonly job: ServedJob
  readonly flags: Flags
  readonly train: RatingsTable
  readonly test: RatingsTable
  readonly tell: (line: string) => void
}

async function measure({ job, flags, train, test, tell }: MeasureContext) {
  const token = flags.optional('token')
  await using client = await WeirClient.connect({
    host: flags.string('host'),
    port: job.port,
    ...(token === undefined ? {} : { token }),
  })
  const times: PredictionTimes = await measurePredictions(client, train)
  tell(
    `predict     one by one p50 ${times.predictP50Ms.toFixed(3)} ms, p99 ${times.predictP99Ms.toFixed(3)} ms; ${times.predictionsPerSecond} predictions/s together`,
  )
  const user = train.users[0]!
  const best = await client.topK(ALS_MODEL, `${user}-U`, { k: 5, suffix: '-I', cold: 'MEAN-U' })
  if (!best.ok) throw best.error
  const list = best.value.map(({ key, score }) => `${key.slice(0, -2)} (${score.toFixed(2)})`)
  tell(`recommend   user ${user}: ${list.join(', ')}`)
  const { min, max } = ratingStatistics(train)
  const errors = await evaluate(client, test, { min, max })
  const { known, coldUser, coldItem, coldBoth } = errors.coverage
  tell(
    `evaluate    RMSE ${errors.rmse.toFixed(4)} on ${errors.count} held-out ratings (${known} known, ${coldUser + coldItem + coldBoth} cold pairs)`,
  )
  return { rmse: errors.rmse, mse: errors.mse, coverage: errors.coverage, ...times }
}

function evaluate(
  client: WeirClient,
  test: RatingsTable,
  range: RatingRange,
): Promise<ErrorSummary> {
  return evaluateServed(client, test, { state: ALS_MODEL, query: {}, range })
}

function invitation(flags: Flags, port: number): string {
  const where = port === 9069 ? '' : ` --port ${port}`
  const data = flags.string('data-dir')
  return `
It keeps serving until Ctrl-C, and finds its state again at the next start (${data}).
In another terminal:
  npm run weir -- predict 1 50 172${where}
  npm run weir -- recommend 1 --k 5${where}
  npm run weir -- query ALS_MODEL 1-U MEAN-I --json${where}`
}
