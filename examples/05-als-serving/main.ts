/**
 * The main job from code: train, publish, serve, query. `npm start` does the same. Run it with
 *
 *   npx node examples/05-als-serving/main.ts
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WeirClient } from '../../src/client/index.ts'
import {
  ALS_MODEL,
  EmbeddedLog,
  evaluateServed,
  generateRatings,
  MODEL_ROWS_UID,
  publishAls,
  ratingsTable,
  ServedJob,
  splitAtRandom,
  systemClock,
  trainAls,
  VersionCoordinator,
} from '../../src/index.ts'

const TOPIC = 'als-model'
const PARTITIONS = 4
const folder = await mkdtemp(join(tmpdir(), 'weir-example-'))
const logDirectory = join(folder, 'log')

// 1. Train a model on ratings.
const ratings = ratingsTable(generateRatings({ users: 300, items: 120, ratings: 20_000, seed: 1 }))
const { train, test } = splitAtRandom(ratings, 0.1, 1)
const model = await trainAls(train, { factors: 16, iterations: 8, biases: true })
console.log(`trained   ${model.users.length} users, ${model.items.length} items`)

// 2. Publish it to a topic: its rows, then a marker that says that the version is complete.
{
  await using log = await EmbeddedLog.open(logDirectory)
  await publishAls(model, {
    log,
    topic: TOPIC,
    version: 1,
    clock: systemClock,
    partitions: PARTITIONS,
  })
}

// 3. Serve the topic as keyed state. The coordinator makes a version live when every slot has it.
const live = Promise.withResolvers<number>()
const job = await ServedJob.start({
  module: new URL('../../src/jobs/als-serving/job.ts', import.meta.url),
  jobOptions: { logDirectory, topic: TOPIC, dimension: model.dimension },
  configuration: { 'parallelism.default': '2', 'state.backend.type': 'heap' },
  seed: 1,
  port: 0,
  models: [ALS_MODEL],
  coordinators: {
    [MODEL_ROWS_UID]: new VersionCoordinator({
      model: 0,
      partitions: PARTITIONS,
      clock: systemClock,
      onLive: live.resolve,
    }),
  },
})
console.log(`live      version ${await live.promise}`)

// 4. Query it. Any process can do this; it only needs the port.
const client = await WeirClient.connect({ port: job.port })
const options = { coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }
const user = train.users[0]!
const known = await client.predict(ALS_MODEL, `${user}-U`, `${train.items[0]}-I`, options)
console.log(`predict   ${known.score.toFixed(2)} for a known pair, cold: ${known.leftCold}`)
const stranger = await client.predict(ALS_MODEL, 'nobody-U', `${train.items[0]}-I`, options)
console.log(`predict   ${stranger.score.toFixed(2)} for a stranger, cold: ${stranger.leftCold}`)
const best = await client.topK(ALS_MODEL, `${user}-U`, { k: 3, suffix: '-I' })
if (!best.ok) throw best.error
console.log(`recommend ${best.value.map(({ key }) => key).join(' ')}`)

const errors = await evaluateServed(client, test, { state: ALS_MODEL, query: {} })
console.log(`evaluate  RMSE ${errors.rmse.toFixed(2)} over ${errors.count} held-out ratings`)

await client.close()
await job.close()
await rm(folder, { recursive: true })
