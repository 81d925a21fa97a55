import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import type { Tensor } from '../../../../src/inference/port/tensor.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import { loadOnnxRuntime } from '../../../../src/inference/runners/onnx.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { FILE_FORMS } from '../../../inference/onnx/file-forms.ts'
import { guidePage } from '../../docs/page-commands.ts'

const AT_ONCE = 6

/** Rows of the table: `| form | what happens |`. */
const [, section = ''] = guidePage('model-table.md').split('\n## Forms of files\n')
const rows = section
  .split('\n## ')[0]!
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .map((line) => line.slice(2, -2).split(' | '))

const nameOf = (form: string): string => `form-${Object.keys(FILE_FORMS).indexOf(form)}`

let folder: string
let models: ModelsProcess

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-forms-'))
  for (const [form, make] of Object.entries(FILE_FORMS)) {
    const file = join(folder, `${nameOf(form)}.onnx`)
    await writeFile(file, make().bytes)
    await pushModel(nodeFileSystem, { root: join(folder, 'models'), name: nameOf(form), file })
  }
  models = await ModelsProcess.start({
    repository: join(folder, 'models'),
    port: 0,
    engine: openInferenceEngine(),
  })
})

afterAll(async () => {
  await models?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

/** Constructors of ONNX Runtime's elements by datatype. */
const ELEMENTS = {
  FP32: ['float32', Float32Array],
  FP64: ['float64', Float64Array],
  FP16: ['float16', Uint16Array],
  INT8: ['int8', Int8Array],
  INT16: ['int16', Int16Array],
  INT32: ['int32', Int32Array],
  INT64: ['int64', BigInt64Array],
  UINT8: ['uint8', Uint8Array],
  UINT16: ['uint16', Uint16Array],
  UINT32: ['uint32', Uint32Array],
  UINT64: ['uint64', BigUint64Array],
  BOOL: ['bool', Uint8Array],
} as const

/** The output of ONNX Runtime without anything around it. */
async function alone(session: InferenceSession, inputs: readonly Tensor[]): Promise<OrtTensor> {
  const runtime = await loadOnnxRuntime()
  const feeds = inputs.map(({ name, datatype, shape, data }) => {
    const [type, Elements] = ELEMENTS[datatype as keyof typeof ELEMENTS]
    const values = new Elements(data.slice().buffer) as Float32Array
    return [name, new runtime.Tensor(type as 'float32', values, shape)] as const
  })
  const results = await session.run(Object.fromEntries(feeds))
  return results[session.outputNames[0]!]!
}

function expectEqual({ datatype, shape, data }: Tensor, { dims, data: wanted }: OrtTensor): void {
  expect(shape).toEqual(dims)
  if (datatype === 'FP32') {
    const values = new Float32Array(data.slice().buffer)
    // A run that requests share may round in another order.
    for (const [i, value] of values.entries()) {
      expect(value).toBeCloseTo((wanted as Float32Array)[i]!, 5)
    }
  } else {
    const { buffer, byteOffset, byteLength } = wanted as Float32Array
    expect(Buffer.from(data)).toEqual(Buffer.from(buffer, byteOffset, byteLength))
  }
}

describe('files of every form', () => {
  it('have a row in the guide each', () => {
    expect(rows.map(([form]) => form)).toEqual(Object.keys(FILE_FORMS))
  })

  it.each(Object.keys(FILE_FORMS))(
    'answer as ONNX Runtime alone, or say why not: %s',
    async (form) => {
      const info = await models.state.signature(nameOf(form))
      const [version] = info.versions
      const what =
        version!.state === 'READY'
          ? info.batching
          : `refused: ${version!.reason.replaceAll(/\S*model\.onnx/g, 'the file')}`
      expect(rows.find(([name]) => name === form)?.[1]).toBe(what)
      if (version!.state !== 'READY') return
      const runtime = await loadOnnxRuntime()
      const { bytes, inputs } = FILE_FORMS[form]!()
      const session = await runtime.InferenceSession.create(bytes, { logSeverityLevel: 4 })
      try {
        const requests = Array.from({ length: AT_ONCE }, (_, seed) => inputs(seed))
        const answers = await Promise.all(
          requests.map((request) =>
            models.state.inferRaw(
              nameOf(form),
              { inputs: request, outputs: [] },
              { deadlineMs: 60_000 },
            ),
          ),
        )
        for (const [i, { outputs }] of answers.entries()) {
          expectEqual(outputs[0]!, await alone(session, requests[i]!))
        }
      } finally {
        await session.release()
      }
    },
  )
})
