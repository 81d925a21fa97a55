import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import { LinkedProducer } from '../../../src/inference/engine/linked-producer.ts'
import type { Bucket, InferenceEngine } from '../../../src/inference/port/engine.ts'
import type { ProducerMessage } from '../../../src/inference/port/producer-message.ts'
import { untilPasses } from '../../run/until.ts'
import { floats, floatsOf, linearModel } from './models.ts'

const id = { name: 'linear', version: 3 }
let folder: string
let engine: InferenceEngine

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-inference-'))
  engine = openInferenceEngine()
})

afterAll(async () => {
  await engine[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

describe('an ONNX model', () => {
  it('answers each request with its own rows, however they were batched', async () => {
    const signature = await engine.load(id, linearModel(folder, { inputs: 2, outputs: 1 }), {
      sloMs: 60_000,
    })
    expect(signature.inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [-1, 2], itemAxis: 0 }])
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        engine.infer({
          model: id,
          inputs: [floats('x', i % 2 === 0 ? [1, 2] : [2, 2], i % 2 === 0 ? [i, 1] : [i, 1, i, 2])],
        }),
      ),
    )
    answers.forEach(({ outputs, version }, i) => {
      expect(version).toBe(3)
      expect(outputs[0]!.shape).toEqual(i % 2 === 0 ? [1, 1] : [2, 1])
      expect(floatsOf(outputs[0]!)).toEqual(i % 2 === 0 ? [i + 1] : [i + 1, i + 2])
    })
    const [statistics] = engine.statistics()
    expect(statistics).toMatchObject({ answered: 200, items: 300, failed: 0, waiting: 0 })
    expect(statistics!.batches).toBeLessThan(200)
    expect(statistics).toMatchObject({ inTime: 200, sloAttainment: 1, executionsPerRequest: 1 })
  })

  it('has each wait, run and batch in a histogram', async () => {
    // A worker counts a run after its answers.
    await untilPasses(() => {
      const { histograms, batches, items } = engine.statistics()[0]!
      const countOf = (buckets: readonly Bucket[]): number =>
        buckets.reduce((sum, { count }) => sum + count, 0)
      const counts = [histograms.queueMs, histograms.runMs, histograms.batchItems].map(countOf)
      expect(counts).toEqual([200, batches, batches])
      const most = histograms.batchItems
        .filter(({ count }) => count > 0)
        .reduce((sum, { upTo, count }) => sum + upTo * count, 0)
      // A batch has more items than half of the bound of its bucket.
      expect([most >= items, most < 2 * items]).toEqual([true, true])
    })
  })

  it('refuses inputs that do not fit its signature, and models that are not loaded', async () => {
    await expect(
      engine.infer({ model: id, inputs: [floats('x', [1, 3], [1, 2, 3])] }),
    ).rejects.toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    await expect(engine.infer({ model: id, inputs: [] })).rejects.toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    await expect(
      engine.infer({ model: { name: 'linear', version: 4 }, inputs: [] }),
    ).rejects.toMatchObject({ code: 'UNKNOWN_MODEL' })
    const missing = { kind: 'onnx', file: join(folder, 'missing.onnx') } as const
    await expect(
      engine.load({ name: 'missing', version: 1 }, missing, { sloMs: 10 }),
    ).rejects.toMatchObject({ code: 'MODEL_FAILED' })
  })

  it('answers other threads that its messages reach, also models that are loaded later', async () => {
    using producer = new LinkedProducer()
    using _link = engine.link((message) => producer.handle(structuredClone(message)))
    expect(producer.models().map((model) => model.id)).toEqual([id])
    const { outputs } = await producer.infer({ model: id, inputs: [floats('x', [1, 2], [3, 4])] })
    expect(floatsOf(outputs[0]!)).toEqual([7])
    const later = { name: 'later', version: 1 }
    await engine.load(later, linearModel(folder, { inputs: 1, outputs: 1, factor: 3 }), {
      sloMs: 60_000,
    })
    await untilPasses(() => expect(producer.model(later)).toBeDefined())
    const answer = await producer.infer({ model: later, inputs: [floats('x', [1, 1], [5])] })
    expect(floatsOf(answer.outputs[0]!)).toEqual([15])
    await engine.unload(later)
    await untilPasses(() => expect(producer.model(later)).toBeUndefined())
  })

  it("does not reach a thread that has closed: its number may be the next one's", async () => {
    const closed = new LinkedProducer()
    const late: ProducerMessage[] = []
    using _first = engine.link((message) => late.push(structuredClone(message)))
    closed[Symbol.dispose]()
    for (const message of late) closed.handle(message)
    expect(late).not.toEqual([])
    expect(closed.models()).toEqual([])
  })

  it('answers what waits before it is unloaded, and refuses what comes later', async () => {
    const leaving = { name: 'leaving', version: 1 }
    const source = linearModel(folder, { inputs: 1, outputs: 1, factor: 4 })
    await engine.load(leaving, source, { sloMs: 60_000 })
    const asked = Array.from({ length: 50 }, (_, i) =>
      engine.infer({ model: leaving, inputs: [floats('x', [1, 1], [i])] }),
    )
    const unloaded = engine.unload(leaving)
    const late = engine.infer({ model: leaving, inputs: [floats('x', [1, 1], [1])] })
    await expect(late).rejects.toMatchObject({ code: 'UNKNOWN_MODEL' })
    const answers = await Promise.all(asked)
    expect(answers.map(({ outputs }) => floatsOf(outputs[0]!)[0])).toEqual(
      answers.map((_, i) => 4 * i),
    )
    await unloaded
  })

  it('is loaded once when two callers load it, and can be loaded again after a failure', async () => {
    const twice = { name: 'twice', version: 1 }
    const source = linearModel(folder, { inputs: 1, outputs: 1, factor: 5 })
    const missing = { kind: 'onnx', file: join(folder, 'missing.onnx') } as const
    await expect(engine.load(twice, missing, { sloMs: 10 })).rejects.toThrow()
    await Promise.all([
      engine.load(twice, source, { sloMs: 60_000 }),
      engine.load(twice, source, { sloMs: 60_000 }),
    ])
    expect(engine.statistics().filter((one) => one.id.name === 'twice')).toHaveLength(1)
    expect(engine.statistics().find((one) => one.id.name === 'twice')!.workers).toBe(1)
    await engine.unload(twice)
    await expect(engine.load(twice, source, { sloMs: 0 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })

  it('is gone after it was unloaded', async () => {
    await engine.unload(id)
    await expect(
      engine.infer({ model: id, inputs: [floats('x', [1, 2], [1, 2])] }),
    ).rejects.toMatchObject({ code: 'UNKNOWN_MODEL' })
  })
})
