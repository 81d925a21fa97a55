import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { serveSvmJob } from '../../../src/jobs/serve/svm.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import { publishableWeights, publishLinear } from '../../../src/kinds/linear/publish.ts'
import { LibsvmWriter } from '../../../src/models/linear/libsvm-writer.ts'
import { SVM_MODEL } from '../../../src/models/topic/linear-serving-function.ts'
import {
  predictExamples,
  ServedClassifierQuality,
} from '../../../src/training/evaluate/classifier.ts'
import type { SparseVector } from '../../../src/wire/model-reader.ts'
import { until } from '../../run/until.ts'

const FEATURES = 5000
const RANGE = 64
const encoder = new TextEncoder()

/** A model of which every weight is `scale` times its feature's number mod 7, plus 1. */
const weightsOf = (scale: number): Float64Array =>
  Float64Array.from({ length: FEATURES }, (_, f) => scale * ((f % 7) + 1))

/** By version, what it says of its labels, and those that its predictions have. */
const LABELS: Readonly<
  Record<number, { said: Record<string, number>; positive: number; negative: number }>
> = {
  1: { said: {}, positive: 1, negative: -1 },
  2: { said: { positiveLabel: 1, negativeLabel: 0 }, positive: 1, negative: 0 },
  3: { said: { positiveLabel: 2, negativeLabel: 1 }, positive: 2, negative: 1 },
}

/** A linear model of two slots, served with version 1: all weights as in `weightsOf(1)`, intercept 0.5. */
class ServedModel implements AsyncDisposable {
  readonly live: number[] = []
  readonly topics: LogTopics
  job!: ServedJob
  client!: WeirClient
  private readonly root = mkdtempSync(join(tmpdir(), 'weir-svm-'))

  private constructor() {
    this.topics = new LogTopics(dataDirectory(this.root).log)
  }

  static async start(): Promise<ServedModel> {
    const model = new ServedModel()
    await model.publish(1, 1, 0.5)
    model.job = await serveSvmJob({
      data: dataDirectory(model.root),
      topic: 'svm-model',
      slots: 2,
      queryThreads: 1,
      port: 0,
      configuration: {},
      onLive: (version) => model.live.push(version),
    })
    await until('the model is live', () => model.live.length === 1)
    model.client = await WeirClient.connect({ port: model.job.port, deadlineMs: 60_000 })
    return model
  }

  publish(version: number, scale: number, intercept: number): Promise<number> {
    return publishLinear(publishableWeights(weightsOf(scale), intercept), {
      log: this.topics,
      topic: 'svm-model',
      version,
      range: RANGE,
      clock: systemClock,
      hyperparameters: LABELS[version]!.said,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close()
    await this.job.close()
    await this.topics[Symbol.asyncDispose]()
    rmSync(this.root, { recursive: true, force: true })
  }
}

describe('a served linear model', () => {
  let model: ServedModel
  let job: ServedJob
  let client: WeirClient

  beforeAll(async () => {
    model = await ServedModel.start()
    job = model.job
    client = model.client
  })

  afterAll(() => model[Symbol.asyncDispose]())

  const random = seededRandom(6)
  const example = (count: number): SparseVector => {
    const ids = Uint32Array.from(
      new Set(Array.from({ length: count }, () => random.below(FEATURES))),
    ).sort()
    return { ids, values: Float32Array.from(ids, () => random.normal()) }
  }
  const decisionOf = ({ ids, values }: SparseVector, scale: number, intercept: number): number =>
    ids.reduce((sum, f, k) => sum + scale * ((f % 7) + 1) * values[k]!, intercept)

  it('gives the decision value and label of each of many concurrent examples', async () => {
    const examples = Array.from({ length: 300 }, (_, n) => example(1 + (n % 120)))
    const answers = await Promise.all(examples.map((x) => client.predictLinear(SVM_MODEL, x)))
    for (const [n, answer] of answers.entries()) {
      const decision = decisionOf(examples[n]!, 1, 0.5)
      expect(answer.decision).toBeCloseTo(decision, 3)
      expect(answer).toMatchObject({ label: decision > 0 ? 1 : -1, unknown: 0, modelVersion: 1 })
    }
  })

  it('counts features without a weight, and uses another threshold and other labels', async () => {
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

  it('gives the same answer at the last checkpoint, by asynchronous reads', async () => {
    await job.execution.triggerCheckpoint()
    const features = example(100)
    const answer = await client.predictLinear(SVM_MODEL, features, {
      consistency: { level: 'checkpoint' },
    })
    expect(answer.decision).toBeCloseTo(decisionOf(features, 1, 0.5), 3)
  })

  it('takes ids in any order, and adds up those that come again', async () => {
    const mixed = { ids: Uint32Array.of(7, 3, 7), values: Float32Array.of(1, 2, 0.5) }
    const sorted = { ids: Uint32Array.of(3, 7), values: Float32Array.of(2, 1.5) }
    const { decision } = await client.predictLinear(SVM_MODEL, mixed)
    expect(decision).toBeCloseTo(decisionOf(sorted, 1, 0.5), 4)
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

  it("applies text weights of the ancestor's format while it answers", async () => {
    const producer = await model.topics.producer('svm-model')
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
})

describe('a switch of versions of a linear model', () => {
  it('switches versions without a failed or mixed prediction, or a label of another version', async () => {
    await using model = await ServedModel.start()
    const { client, live } = model
    const features = { ids: Uint32Array.of(0, 70, 700, 2100), values: Float32Array.of(1, 1, 1, 1) }
    const turned = { ...features, values: features.values.map((value) => -value) }
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
          expect(decision).toBeCloseTo(weights + (modelVersion === 1 ? 0.5 : 0), 3)
        }
        for (const { label, modelVersion } of answers) {
          expect(label).toBe(LABELS[modelVersion]!.positive)
        }
        const { label, modelVersion } = await client.predictLinear(SVM_MODEL, turned)
        expect(label).toBe(LABELS[modelVersion]!.negative)
      }
    })()
    for (const version of [2, 3]) {
      await model.publish(version, 10 ** (version - 1), 0)
      await expect.poll(() => live.at(-1)).toBe(version)
    }
    running = false
    await asking
    await client.predictLinear(SVM_MODEL, features).then(({ decision }) => sums.add(decision))
    expect(sums.size).toBeGreaterThan(1)
  })
})
