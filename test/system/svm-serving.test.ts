import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { dataDirectory } from '../../src/cli/data-directory.ts'
import { serveSvm } from '../../src/cli/serve-svm.ts'
import { WeirClient } from '../../src/client/weir-client.ts'
import { LogTopics } from '../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../src/core/clock.ts'
import { seededRandom } from '../../src/core/random.ts'
import type { ServedJob } from '../../src/jobmanager/served-job.ts'
import { predictExamples, ServedClassifierQuality } from '../../src/jobs/evaluate-classifier.ts'
import { publishableWeights, publishLinear } from '../../src/jobs/publish-linear.ts'
import { SVM_MODEL } from '../../src/jobs/svm-serving-function.ts'
import { LibsvmWriter } from '../../src/models/libsvm-writer.ts'
import type { SparseVector } from '../../src/wire/model-reader.ts'

const FEATURES = 5000
const RANGE = 64
const encoder = new TextEncoder()

/** A model of which every weight is `scale` times its feature's number mod 7, plus 1. */
const weightsOf = (scale: number): Float64Array =>
  Float64Array.from({ length: FEATURES }, (_, f) => scale * ((f % 7) + 1))

describe('a served linear model', () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-svm-'))
  const topics = new LogTopics(dataDirectory(root).log)
  const live: number[] = []
  let job: ServedJob
  let client: WeirClient

  const publish = (version: number, scale: number, intercept: number): Promise<void> =>
    publishLinear(publishableWeights(weightsOf(scale), intercept), {
      log: topics,
      topic: 'svm-model',
      version,
      range: RANGE,
      clock: systemClock,
    })

  beforeAll(async () => {
    await publish(1, 1, 0.5)
    job = await serveSvm({
      data: dataDirectory(root),
      topic: 'svm-model',
      slots: 2,
      queryThreads: 1,
      host: '127.0.0.1',
      port: 0,
      configuration: {},
      onLive: (version) => live.push(version),
    })
    await vi.waitUntil(() => live.length === 1, { timeout: 30_000 })
    client = await WeirClient.connect({ port: job.port })
  }, 60_000)

  afterAll(async () => {
    await client.close()
    await job.close()
    await topics[Symbol.asyncDispose]()
    rmSync(root, { recursive: true, force: true })
  })

  const random = seededRandom(6)
  const example = (count: number): SparseVector => {
    const ids = Uint32Array.from(
      new Set(Array.from({ length: count }, () => random.below(FEATURES))),
    ).sort()
    return { ids, values: Float32Array.from(ids, () => random.normal()) }
  }
  const decisionOf = ({ ids, values }: SparseVector, scale: number, intercept: number): number =>
    ids.reduce((sum, f, k) => sum + scale * ((f % 7) + 1) * values[k]!, intercept)

  it('gives the decision value and label of every example asked at once', async () => {
    const examples = Array.from({ length: 300 }, (_, n) => example(1 + (n % 120)))
    const answers = await Promise.all(examples.map((x) => client.predictLinear(SVM_MODEL, x)))
    for (const [n, answer] of answers.entries()) {
      const decision = decisionOf(examples[n]!, 1, 0.5)
      expect(answer.decision).toBeCloseTo(decision, 3)
      expect(answer).toMatchObject({ label: decision > 0 ? 1 : -1, unknown: 0, modelVersion: 1 })
    }
  })

  it('counts features it has no weight for, and thresholds with other labels', async () => {
    const features = { ids: Uint32Array.of(0, 9000, 4e9), values: Float32Array.of(2, 1, 1) }
    const options = { threshold: 2.5, positiveLabel: 9, negativeLabel: 4 }
    expect(await client.predictLinear(SVM_MODEL, features, options)).toMatchObject({
      decision: 2.5,
      label: 4,
      unknown: 2,
    })
    const product = await client.sparseDot(SVM_MODEL, features)
    expect(product).toMatchObject({ ok: true, value: { sum: 2, unknown: 2 } })
  })

  it('answers the same at the last checkpoint, by the slower way', async () => {
    await job.execution.triggerCheckpoint()
    const features = example(100)
    const answer = await client.predictLinear(SVM_MODEL, features, {
      consistency: { level: 'checkpoint' },
    })
    expect(answer.decision).toBeCloseTo(decisionOf(features, 1, 0.5), 3)
  })

  it('refuses ids that do not rise', async () => {
    const features = { ids: Uint32Array.of(2, 1), values: Float32Array.of(1, 1) }
    await expect(client.predictLinear(SVM_MODEL, features)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    const missing = client.predictLinear('NOTHING', example(3))
    await expect(missing).rejects.toMatchObject({ code: 'UNKNOWN_STATE' })
  })

  it('evaluates labelled examples as a stream, dropping none', async () => {
    const text = new LibsvmWriter()
    for (let n = 0; n < 500; n++) {
      const { ids, values } = example(20)
      text.add(decisionOf({ ids, values }, 1, 0.5) > 0 !== (n % 10 === 0) ? 1 : -1, ids, values)
    }
    text.add(1, [9_999], [1])
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      yield text.bytes.subarray(0, 1000)
      yield text.bytes.subarray(1000, text.length)
    }
    const quality = new ServedClassifierQuality(false)
    const options = { state: SVM_MODEL, query: {}, outstanding: 64 }
    const predict: typeof client.predictLinear = (...asked) => client.predictLinear(...asked)
    for await (const predicted of predictExamples(predict, pieces(), options)) {
      quality.add(predicted)
    }
    const summary = quality.summary()
    expect(summary).toMatchObject({ count: 501, unknownFeatures: 1, unknownExamples: 1 })
    expect(summary.accuracy.mean).toBeCloseTo(0.9, 2)
    expect(summary.auc!.mean).toBeGreaterThan(0.85)
  })

  it('takes text weights of the ancestor while it is asked', async () => {
    const producer = await topics.producer('svm-model')
    const send = (key: string | null, value: string): void =>
      producer.sendRecord(
        key === null ? null : encoder.encode(key),
        encoder.encode(value),
        0,
        0,
        [],
      )
    send(null, '4999,100')
    send(null, '4,4000:7;4001:8')
    send(null, 'not a weight')
    send('0', '5500:3;bias:1')
    await producer.sync()
    await producer.close()
    const ids = Uint32Array.of(4000, 4001, 4999, 5500)
    const features = { ids, values: Float32Array.of(1, 1, 1, 1) }
    await expect
      .poll(async () => (await client.predictLinear(SVM_MODEL, features)).decision)
      .toBe(7 + 8 + 100 + 3 + 1)
  })

  it('switches versions without a failed or mixed prediction', async () => {
    const features = { ids: Uint32Array.of(0, 70, 700, 2100), values: Float32Array.of(1, 1, 1, 1) }
    const sums = new Set<number>()
    let running = true
    const asking = (async () => {
      while (running) {
        const answers = await Promise.all(
          Array.from({ length: 50 }, () => client.predictLinear(SVM_MODEL, features)),
        )
        for (const { decision, modelVersion } of answers) {
          sums.add(decision)
          const scale = 10 ** (modelVersion - 1)
          const weights = features.ids.reduce((sum, f) => sum + scale * ((f % 7) + 1), 0)
          expect(decision).toBeCloseTo(weights + (modelVersion === 1 ? 1 : 0), 3)
        }
      }
    })()
    for (const version of [2, 3]) {
      await publish(version, 10 ** (version - 1), 0)
      await expect.poll(() => live.at(-1), { timeout: 30_000 }).toBe(version)
    }
    running = false
    await asking
    await client.predictLinear(SVM_MODEL, features).then(({ decision }) => sums.add(decision))
    expect(sums.size).toBeGreaterThan(1)
  })
})
