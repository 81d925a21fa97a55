import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import type { BatchingSettings, Deployment } from '../../../src/inference/port/deployment.ts'
import type { InferenceEngine } from '../../../src/inference/port/engine.ts'
import type { ModelSource } from '../../../src/inference/port/model.ts'
import { ModelsProcess } from '../../../src/jobs/models/process.ts'
import { untilPasses } from '../../run/until.ts'
import { floats, floatsOf, linearModel } from './models.ts'

/*
 * Bugs of other servers, by the numbers of their issues, as tests of this one. Each test fails with the bug. Others are beside
 * what they concern: the batching rules, the memory of a device, lost workers.
 */

const id = { name: 'doubling', version: 1 }

let folder: string
let engine: InferenceEngine

const source = (name: string, options?: SharedArrayBuffer): ModelSource => ({
  kind: 'function',
  module: join(import.meta.dirname, 'function-models.ts'),
  export: name,
  ...(options === undefined ? {} : { options }),
})

/** Asks the model, and gives the floats of the answer or the code of the error. */
const ask = (values: readonly number[], more: { deadlineMs?: number; signal?: AbortSignal } = {}) =>
  engine.infer({ model: id, inputs: [floats('x', [values.length], values)], ...more })

/** A model whose runs wait until the test opens the gate, so that the test says what waits meanwhile. */
async function loadGated(deployment: Partial<Deployment>) {
  const words = new Int32Array(new SharedArrayBuffer(8))
  const settings = { sloMs: 60_000, overtimeMs: 60_000, ...deployment }
  await engine.load(id, source('gated', words.buffer), settings)
  return {
    open: () => {
      Atomics.store(words, 0, 1)
      Atomics.notify(words, 0)
    },
    /** Items of the runs that have begun. */
    items: () => Atomics.load(words, 1),
    isRunning: (items: number) => untilPasses(() => expect(Atomics.load(words, 1)).toBe(items)),
  }
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-bugs-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

beforeEach(() => {
  engine = openInferenceEngine()
})

afterEach(() => engine[Symbol.asyncDispose]())

const RULES: readonly BatchingSettings[] = [
  { rule: 'slack' },
  { rule: 'aimd' },
  { rule: 'quantile' },
  { rule: 'greedy', sizes: [1] },
  { rule: 'threshold' },
  { rule: 'window', delayMs: 1 },
  { rule: 'none' },
]

describe('a request that its client no longer wants', () => {
  it('is not run after its deadline (triton#6920)', async () => {
    // A rule that sheds nothing: only the deadline ends them.
    const gate = await loadGated({ batching: { rule: 'none' } })
    const first = ask([1])
    await gate.isRunning(1)
    const late = Array.from({ length: 5 }, () => ask([2], { deadlineMs: 30 }))
    for (const { status, reason } of (await Promise.allSettled(late)) as PromiseRejectedResult[]) {
      expect([status, reason.code]).toEqual(['rejected', 'DEADLINE_EXCEEDED'])
    }
    gate.open()
    await first
    await ask([3])
    expect(gate.items()).toBe(2)
  })

  it('is not run after it was cancelled, and its client hears of it at once (triton#8030)', async () => {
    const gate = await loadGated({ maxBatchItems: 1 })
    const first = ask([1])
    await gate.isRunning(1)
    const stop = new AbortController()
    const cancelled = Array.from({ length: 5 }, () => ask([2], { signal: stop.signal }))
    stop.abort(new Error('no longer needed'))
    // The gate is closed: nothing but the cancellation can end them.
    const ends = (await Promise.allSettled(cancelled)) as PromiseRejectedResult[]
    expect(ends.map(({ reason }) => reason.message)).toEqual(Array(5).fill('no longer needed'))
    gate.open()
    await first
    await ask([3])
    expect(gate.items()).toBe(2)
    expect(engine.statistics()[0]).toMatchObject({ cancelled: 5 })
  })
})

describe('many models at once', () => {
  it('answer each for themselves, however their requests are mixed and batched (ray#56633)', async () => {
    const factors = [2, 3, 5]
    for (const factor of factors) {
      const model = linearModel(folder, { inputs: 1, outputs: 1, factor })
      await engine.load({ name: 'same', version: factor }, model, { sloMs: 60_000 })
    }
    const answers = await Promise.all(
      Array.from({ length: 300 }, async (_, i) => {
        const model = { name: 'same', version: factors[i % 3]! }
        const { outputs, version } = await engine.infer({
          model,
          inputs: [floats('x', [1, 1], [i])],
        })
        return [version, floatsOf(outputs[0]!)[0]]
      }),
    )
    expect(answers).toEqual(answers.map((_, i) => [factors[i % 3], factors[i % 3]! * i]))
    expect(engine.statistics().every(({ batches }) => batches < 100)).toBe(true)
  })

  it('have all their workers for a hot one of them (ray#48741, ray#65691: one replica)', async () => {
    const gate = await loadGated({ workers: 3, maxBatchItems: 1 })
    const answers = [1, 2, 3].map((value) => ask([value]))
    // The gate is closed: each run has a worker of its own.
    await gate.isRunning(3)
    expect(engine.statistics()[0]).toMatchObject({ workersBusy: 3, workersWanted: 3 })
    gate.open()
    expect((await Promise.all(answers)).map(({ outputs }) => floatsOf(outputs[0]!))).toEqual([
      [2],
      [4],
      [6],
    ])
  })
})

describe('a batch', () => {
  it('has at most its items, where the requests are batches themselves (BentoML#3710)', async () => {
    const gate = await loadGated({ maxBatchItems: 10, batching: { rule: 'window', delayMs: 1 } })
    const first = ask([0])
    await gate.isRunning(1)
    const requests = Array.from({ length: 8 }, (_, i) => ask([i, i, i]))
    gate.open()
    await first
    const answers = await Promise.all(requests)
    expect(answers.map(({ outputs }) => floatsOf(outputs[0]!))).toEqual(
      answers.map((_, i) => [2 * i, 2 * i, 2 * i]),
    )
    expect(Math.max(...answers.map(({ batchItems }) => batchItems))).toBe(9)
  })

  it.each(RULES)('may have one item at most (BentoML#4856: a crash at 1): %j', async (batching) => {
    await engine.load(id, source('doubling'), { sloMs: 60_000, maxBatchItems: 1, batching })
    const answers = await Promise.all([1, 2, 3].map((value) => ask([value])))
    expect(answers.map(({ outputs }) => floatsOf(outputs[0]!))).toEqual([[2], [4], [6]])
    expect(answers.map(({ batchItems }) => batchItems)).toEqual([1, 1, 1])
  })

  it('of equal requests gives each client its own row (MLServer#1306: one had all of them)', async () => {
    const gate = await loadGated({ batching: { rule: 'window', delayMs: 1 } })
    const first = ask([0])
    await gate.isRunning(1)
    const requests = [ask([7]), ask([7]), ask([7])]
    gate.open()
    await first
    for (const { outputs, batchItems } of await Promise.all(requests)) {
      expect(batchItems).toBe(3)
      expect(outputs[0]).toMatchObject({ shape: [1] })
      expect(floatsOf(outputs[0]!)).toEqual([14])
    }
  })

  it('of one request gives back all of it (MLServer#1541: parts were cut off)', async () => {
    const batching = { rule: 'window', delayMs: 1 } as const
    await engine.load(id, source('doubling'), { sloMs: 60_000, batching })
    const { outputs, batchItems } = await ask([10, 11])
    expect(outputs).toEqual([floats('y', [2], [20, 22])])
    expect(batchItems).toBe(2)
  })

  it('is one run of a large request, also without batching (MLServer#1826: an item a run)', async () => {
    const sizes = { inputBytes: 1024, outputBytes: 1024, maxBatchItems: 100 }
    const batching = { rule: 'none' } as const
    await engine.load(id, source('doubling'), { sloMs: 60_000, batching, ...sizes })
    const values = Array.from({ length: 100 }, (_, i) => i)
    const { outputs } = await ask(values)
    expect(floatsOf(outputs[0]!)).toEqual(values.map((value) => 2 * value))
    // A worker counts a run after its answers.
    await untilPasses(() =>
      expect(engine.statistics()[0]).toMatchObject({ batches: 1, items: 100 }),
    )
  })
})

describe('outputs that a request asks for', () => {
  const MODULE = `
const spec = (name) => ({ name, datatype: 'FP32', shape: [-1] })
const times = ([x], factor) => {
  const values = new Float32Array(x.data.slice().buffer).map((value) => factor * value)
  return new Uint8Array(values.buffer)
}
export default {
  signature: { inputs: [spec('x')], outputs: [spec('double'), spec('triple')] },
  run: (inputs) => [
    { ...inputs[0], name: 'double', data: times(inputs, 2) },
    { ...inputs[0], name: 'triple', data: times(inputs, 3) },
  ],
}
`

  it('are what it gets, and nothing else, in a batch with others (MLServer#514)', async () => {
    const repository = join(folder, 'models')
    mkdirSync(join(repository, 'both', '1'), { recursive: true })
    writeFileSync(join(repository, 'both', '1', 'model.mjs'), MODULE)
    // The four requests share a batch: the rule waits for them, however late a busy machine brings one.
    const rule = 'max-batch: 4\nbatching: { rule: window, delay-ms: 60000 }\n'
    const settings = `slo-ms: 60000\nbatches: true\n${rule}`
    writeFileSync(join(repository, 'both', 'deployment.yaml'), settings)
    const own = openInferenceEngine()
    await using models = await ModelsProcess.start({ repository, port: 0, engine: own })
    const client = await WeirClient.connect({ port: models.port, deadlineMs: 60_000 })
    const namesFor = async (outputs: readonly string[]): Promise<readonly string[]> => {
      const x = { name: 'x', shape: [1], data: Float32Array.of(4) }
      const answer = await client.infer('both', [x], { outputs })
      return answer.outputs.map(({ name, data }) => `${name} ${(data as Float32Array)[0]}`)
    }
    expect(
      await Promise.all([['triple'], ['double'], ['triple', 'double'], []].map(namesFor)),
    ).toEqual([['triple 12'], ['double 8'], ['triple 12', 'double 8'], ['double 8', 'triple 12']])
    await untilPasses(() => expect(own.statistics()[0]).toMatchObject({ batches: 1, items: 4 }))
    await client.close()
  })
})

describe('a run', () => {
  it('leaves the event loop of the asking thread free (onnxruntime#19611, onnxruntime#26968)', async () => {
    const gate = await loadGated({})
    const asked = ask([4])
    await gate.isRunning(1)
    // The run has begun and blocks its thread. Only the event loop of this thread can end it.
    await new Promise((resolve) => setImmediate(resolve))
    gate.open()
    expect(floatsOf((await asked).outputs[0]!)).toEqual([8])
  })

  it('of ONNX Runtime takes none of the time of the asking thread (onnxruntime#19611, onnxruntime#26968)', async () => {
    const [rows, width] = [1024, 1024]
    const model = linearModel(folder, { inputs: width, outputs: width })
    const bytes = rows * width * 4 + 1024
    const sizes = { maxBatchItems: rows, inputBytes: bytes, outputBytes: bytes, queueCapacity: 2 }
    await engine.load(id, model, { sloMs: 60_000, ...sizes })
    const inputs = [floats('x', [rows, width], new Float32Array(rows * width).fill(1))]
    await engine.infer({ model: id, inputs })
    const before = process.threadCpuUsage()
    let runMs = 0
    for (let run = 0; run < 5; run++) runMs += (await engine.infer({ model: id, inputs })).runMs
    // What this thread works on are copies of inputs and outputs.
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(runMs / 2)
  })
})
