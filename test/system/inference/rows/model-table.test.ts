import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../../src/cli/run-command-line.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import type { Tensor } from '../../../../src/inference/port/tensor.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { rawOfJson, textsOf } from '../../../../src/wire/inference/json-tensor.ts'
import type { ModelInfo, TensorSignature } from '../../../../src/wire/inference/models.ts'
import { recordedIo } from '../../../cli/recorded-io.ts'

/** Rows of the table of files in the guide: `| model | file | inputs | outputs | what happens |`. */
interface Row {
  readonly model: string
  readonly file: string
  readonly inputs: string
  readonly outputs: string
  readonly what: string
}

/** Sizes of what is free in a request, by input; 1 otherwise. */
const SIZES: Readonly<Record<string, readonly number[]>> = {
  'ocr-detect x': [1, 3, 64, 64],
  'ocr-read x': [1, 3, 48, 96],
  'ocr-turn x': [1, 3, 48, 192],
  'silero input': [1, 512],
  'silero-16k input': [1, 512],
  'silero-half input': [1, 512],
  'silero-no-if input': [1, 512],
  'silero state': [2, 1, 128],
  'silero-16k state': [2, 1, 128],
  'silero-half state': [2, 1, 128],
  'silero-no-if state': [2, 1, 128],
}
const AT_ONCE = 8
/** Texts of a model that knows three of them. */
const CITIES = ['Bonn', 'Rome', 'Oslo', 'Atlantis']

const page = await readFile(resolve('docs/guide/model-table.md'), 'utf8')
const rows = page
  .split('\n')
  .filter((line) => /^\| `[^`]+\.onnx`/.test(line))
  .map((line): Row => {
    const [file, model, inputs, outputs, what] = line
      .split(' | ')
      .map((cell) => cell.replaceAll(/^\| | \|$/g, ''))
    return {
      file: file!.replaceAll('`', ''),
      model: model!,
      inputs: inputs!,
      outputs: outputs!,
      what: what!,
    }
  })

let folder: string
let models: ModelsProcess
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-table-'))
  for (const { file, model } of rows) {
    const { io, err } = recordedIo()
    const argv = ['model', 'push', resolve(file), '--name', model, '--repository', folder]
    expect(await runCommandLine(argv, io), err.join('\n')).toBe(0)
  }
  models = await ModelsProcess.start({ repository: folder, port: 0, engine: openInferenceEngine() })
})
afterAll(async () => {
  await models?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

const tensorsText = (tensors: readonly TensorSignature[]): string =>
  tensors.map(({ name, datatype, shape }) => `${name} ${datatype} [${shape.join(', ')}]`).join('; ')

/** What the page says of a model that is in this state. */
function rowOf({ file, model }: Row, info: ModelInfo): Row {
  const refused = info.versions.find(({ state }) => state !== 'READY')
  const what = refused === undefined ? info.batching : `refused: ${refused.reason}`
  const path = resolve(file)
  return {
    ...{ file, model },
    inputs: tensorsText(info.inputs),
    outputs: tensorsText(info.outputs),
    what: what
      .replaceAll(join(folder, model, '1', 'model.onnx'), 'the file')
      .replaceAll(path, 'the file'),
  }
}

function sampleOf(model: string, seed: number, { name, datatype, shape }: TensorSignature): Tensor {
  const random = seededRandom(seed)
  const sizes = SIZES[`${model} ${name}`] ?? shape.map((size) => Math.max(1, size))
  const elements = sizes.reduce((product, size) => product * size, 1)
  if (datatype === 'INT64') {
    const data = new Uint8Array(BigInt64Array.from({ length: elements }, () => 16_000n).buffer)
    return { name, datatype, shape: sizes, data }
  }
  if (datatype === 'BYTES') {
    const data = Array.from({ length: elements }, () => CITIES[random.below(CITIES.length)]!)
    return rawOfJson({ name, datatype, shape: sizes, data })
  }
  if (datatype !== 'FP32') throw new Error(`no sample of ${datatype}`)
  const values = Float32Array.from({ length: elements }, () => random.normal())
  return { name, datatype, shape: sizes, data: new Uint8Array(values.buffer) }
}

/** Outputs of ONNX Runtime without anything around it. */
async function alone(session: InferenceSession, inputs: readonly Tensor[]) {
  const runtime = (await import('onnxruntime-node')).default
  const feeds = inputs.map(({ name, datatype, shape, data }) => {
    const bytes = data.slice().buffer
    if (datatype === 'BYTES') {
      return [name, new runtime.Tensor('string', textsOf(data, name), shape) as OrtTensor] as const
    }
    const tensor =
      datatype === 'INT64'
        ? new runtime.Tensor('int64', new BigInt64Array(bytes), shape)
        : new runtime.Tensor('float32', new Float32Array(bytes), shape)
    return [name, tensor as OrtTensor] as const
  })
  return await session.run(Object.fromEntries(feeds))
}

function expectEqual(answer: Tensor, expected: OrtTensor): void {
  expect(answer.shape).toEqual(expected.dims)
  if (answer.datatype === 'FP32') {
    const values = new Float32Array(answer.data.slice().buffer)
    const wanted = expected.data as Float32Array
    // Runs that requests share round in another order.
    values.forEach((value, i) => {
      expect(Math.abs(value - wanted[i]!)).toBeLessThan(1e-3 * Math.max(1, Math.abs(wanted[i]!)))
    })
  } else {
    const { buffer, byteOffset, byteLength } = expected.data as BigInt64Array
    expect(Buffer.from(answer.data)).toEqual(Buffer.from(buffer, byteOffset, byteLength))
  }
}

describe('the table of models', () => {
  it('has each file of scikit-learn and LightGBM that there is, and those of the packages', async () => {
    const there = (await readdir(resolve('test/inference/onnx/files')))
      .filter((name) => name.endsWith('.onnx'))
      .map((name) => `test/inference/onnx/files/${name}`)
    const ours = rows.map(({ file }) => file).filter((file) => file.startsWith('test/'))
    expect([...ours].sort()).toEqual(there.sort())
    expect(rows).toHaveLength(there.length + 7)
  })

  it.each(rows.map((row) => [row.model, row] as const))('is true of %s', async (model, row) => {
    const info = await models.state.signature(model)
    expect(rowOf(row, info)).toEqual(row)
    if (row.what.startsWith('refused')) return
    const runtime = (await import('onnxruntime-node')).default
    const session = await runtime.InferenceSession.create(resolve(row.file), {
      logSeverityLevel: 4,
    })
    try {
      // Requests of several clients at once, each as if it were alone.
      const requests = Array.from({ length: AT_ONCE }, (_, i) =>
        info.inputs.map((spec, at) => sampleOf(model, 100 * i + at, spec)),
      )
      const answers = await Promise.all(
        requests.map((inputs) =>
          models.state.inferRaw(model, { inputs, outputs: [] }, { deadlineMs: 60_000 }),
        ),
      )
      for (const [i, { outputs }] of answers.entries()) {
        const expected = await alone(session, requests[i]!)
        expect(outputs.map(({ name }) => name)).toEqual(session.outputNames)
        for (const output of outputs) expectEqual(output, expected[output.name]!)
      }
    } finally {
      await session.release()
    }
  })
})
