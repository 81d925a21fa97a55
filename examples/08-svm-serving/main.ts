/**
 * A linear classifier from code: generate, train, publish, serve, classify. Run it with
 *
 *   npx node examples/08-svm-serving/main.ts
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WeirClient } from '../../src/client/index.ts'
import {
  EmbeddedLog,
  LinearExamples,
  MODEL_ROWS_UID,
  publishableWeights,
  publishLinear,
  ServedJob,
  SparseTableBuilder,
  SVM_MODEL,
  seededRandom,
  systemClock,
  trainLinear,
  VersionCoordinator,
} from '../../src/index.ts'

const TOPIC = 'svm-model'
const RANGE = 256
const PARTITIONS = 4
const folder = await mkdtemp(join(tmpdir(), 'weir-example-'))
const logDirectory = join(folder, 'log')

// 1. Train a model on sparse examples.
const examples = new LinearExamples({ features: 2000, nonZeros: 30, noise: 0.02 })
const random = seededRandom(1)
const table = new SparseTableBuilder()
for (let n = 0; n < 20_000; n++) {
  const { label, ids, values } = examples.next(random)
  table.add(label, ids, values)
}
const model = await trainLinear(table.build(), { loss: 'hinge', cost: 0.1 })
console.log(`trained   ${model.weights.length} weights`)

// 2. Publish its weights to a topic, in blocks of 256.
{
  await using log = await EmbeddedLog.open(logDirectory)
  await publishLinear(publishableWeights(model.weights, model.intercept), {
    log,
    topic: TOPIC,
    version: 1,
    range: RANGE,
    clock: systemClock,
    partitions: PARTITIONS,
  })
}

// 3. Serve the topic as keyed state.
const live = Promise.withResolvers<number>()
const job = await ServedJob.start({
  module: new URL('../../src/models/topic/svm-serving.ts', import.meta.url),
  jobOptions: { logDirectory, topic: TOPIC, range: RANGE },
  configuration: { 'parallelism.default': '2', 'state.backend.type': 'heap' },
  seed: 1,
  port: 0,
  models: [SVM_MODEL],
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

// 4. Query it from any process. Calls made together travel in one frame.
const client = await WeirClient.connect({ port: job.port })
const fresh = Array.from({ length: 1000 }, () => {
  const { label, ids, values } = examples.next(random)
  return { label, ids: ids.slice(), values: values.slice() }
})
const predictions = await Promise.all(fresh.map((one) => client.predictLinear(SVM_MODEL, one)))
const right = predictions.filter(({ label }, n) => label === fresh[n]!.label).length
console.log(`classify  ${(right / 10).toFixed(0)} % of ${fresh.length} new examples right`)

const stranger = { ids: Uint32Array.of(1, 5_000_000), values: Float32Array.of(1, 1) }
const { unknown } = await client.predictLinear(SVM_MODEL, stranger)
console.log(`unknown   ${unknown} of ${stranger.ids.length} features`)

await client.close()
await job.close()
await rm(folder, { recursive: true })
