import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TensorDatatype } from '../../../../src/inference/port/tensor.ts'
import { openModel } from '../../../../src/inference/runners/open.ts'
import type { OnnxType } from '../../../../src/training/gpu/onnx-encoder.ts'
import { OnnxGraphBuilder } from '../../../../src/training/gpu/onnx-graph.ts'

/* In a process of its own: the runtime decides about floats of 16 bits when its first tensor is made. */

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-values-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What a model that gives back its input makes of the data of a tensor of two elements. */
async function passed(
  type: OnnxType,
  datatype: TensorDatatype,
  data: Uint8Array,
): Promise<Uint8Array> {
  const graph = new OnnxGraphBuilder()
  graph.output('y', graph.input('x', ['n'], type), { shape: ['n'], type })
  const file = join(folder, `${type}.onnx`)
  writeFileSync(file, graph.build())
  const model = await openModel({ kind: 'onnx', file }, { threads: 1 })
  try {
    const [output] = await model.run([{ name: 'x', datatype, shape: [2], data }], 2)
    expect(output).toMatchObject({ datatype, shape: [2] })
    return output!.data
  } finally {
    await model.close()
  }
}

const texts = (...parts: readonly Uint8Array[]): Uint8Array =>
  Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4)
      length.writeUInt32LE(part.length)
      return [length, part]
    }),
  )

describe('values on their way through ONNX Runtime', () => {
  it('of floats of 16 bits keep their bits on this Node (onnxruntime#32323)', async () => {
    const data = new Uint8Array(Uint16Array.of(0x3e00, 0x4000).buffer)
    expect(Array.from(await passed('float16', 'FP16', data))).toEqual(Array.from(data))
  })

  it('of the class Float16Array are left to others', async () => {
    await passed('float16', 'FP16', new Uint8Array(4))
    expect('Float16Array' in globalThis).toBe(Number(process.versions.node.split('.')[0]) >= 24)
  })

  it('of strings keep their bytes, with a mark of byte order', async () => {
    const data = texts(Buffer.from('höhe'), Buffer.from('\ufeffa'))
    expect(Buffer.from(await passed('string', 'BYTES', data))).toEqual(data)
  })

  it('of strings that would be altered are refused (onnxruntime ends a string at a NUL)', async () => {
    const nul = texts(Buffer.from('a\0b'), Buffer.from('c'))
    await expect(passed('string', 'BYTES', nul)).rejects.toMatchObject({
      code: 'SIGNATURE_MISMATCH',
      message: expect.stringContaining('the input "x" has a string with a NUL'),
    })
    const noText = texts(Uint8Array.of(0xff, 0xfe), Buffer.from('c'))
    await expect(passed('string', 'BYTES', noText)).rejects.toThrow('a string that is no UTF-8')
  })

  it('of strings that need a locale which the machine does not have are refused with the remedy', async () => {
    const graph = new OnnxGraphBuilder()
    // A language that no machine has; skl2onnx writes en_US.UTF-8 as many have it.
    const attributes = { case_change_action: 'LOWER', locale: 'qq_QQ.UTF-8' }
    const lower = graph.add('StringNormalizer', [graph.input('x', ['n'], 'string')], attributes)
    graph.output('y', lower, { shape: ['n'], type: 'string' })
    const file = join(folder, 'locale.onnx')
    writeFileSync(file, graph.build())
    await expect(openModel({ kind: 'onnx', file }, { threads: 1 })).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringMatching(
        /locale\.onnx: a string operation .* needs the locale qq_QQ\.UTF-8, which this machine does not have\. Install it \(Debian: "apt-get install locales && localedef -i qq_QQ -f UTF-8 qq_QQ\.UTF-8"\)/,
      ),
    })
  })

  it('of strings are changed where the locale is there', async () => {
    const graph = new OnnxGraphBuilder()
    const attributes = { case_change_action: 'LOWER', locale: 'C.UTF-8' }
    const lower = graph.add('StringNormalizer', [graph.input('x', ['n'], 'string')], attributes)
    graph.output('y', lower, { shape: ['n'], type: 'string' })
    const file = join(folder, 'lower.onnx')
    writeFileSync(file, graph.build())
    const model = await openModel({ kind: 'onnx', file }, { threads: 1 })
    const data = texts(Buffer.from('ÄB'), Buffer.from('c'))
    const [answer] = await model.run([{ name: 'x', datatype: 'BYTES', shape: [2], data }], 2)
    await model.close()
    expect(Buffer.from(answer!.data)).toEqual(texts(Buffer.from('äb'), Buffer.from('c')))
  })

  it('of lists of maps are refused with the remedy', async () => {
    const file = join(import.meta.dirname, '../../../inference/onnx/files/sk-zipmap.onnx')
    await expect(openModel({ kind: 'onnx', file }, { threads: 1 })).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('export the model with zipmap=False'),
    })
  })
})
