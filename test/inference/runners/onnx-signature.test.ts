import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import type { RunnerOptions } from '../../../src/inference/port/runner.ts'
import { openModel } from '../../../src/inference/runners/open.ts'
import { ALONE_KINDS } from '../onnx/alone-kinds.ts'
import { BATCHED_KINDS } from '../onnx/batched-kinds.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-signature-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function signatureOf(name: string, options: Partial<RunnerOptions> = {}) {
  const file = join(folder, 'model.onnx')
  const kind = BATCHED_KINDS[name] ?? ALONE_KINDS[name]!
  writeFileSync(file, kind.make(seededRandom(1)).bytes)
  return await signatureOfFile(file, options)
}

async function signatureOfFile(file: string, options: Partial<RunnerOptions> = {}) {
  const model = await openModel({ kind: 'onnx', file }, { threads: 1, ...options })
  await model.close()
  return model.signature
}

describe('requests for an ONNX model', () => {
  it('share runs where the graph shows that its rows are independent', async () => {
    const signature = await signatureOf('layers one after the other')
    expect(signature).toMatchObject({ inputs: [{ name: 'x', itemAxis: 0 }] })
    expect(signature.alone).toBeUndefined()
  })

  it('run alone where it does not, and the signature says why', async () => {
    expect((await signatureOf('Softmax over the rows')).alone).toBe('Softmax over axis 0')
    expect((await signatureOf('detector of one picture')).alone).toBe(
      'no first axis of an input is free',
    )
  })

  it('share runs for LightGBM, whose file says that there is one label', async () => {
    const file = join(import.meta.dirname, '..', 'onnx', 'files', 'lgbm-zip0.onnx')
    const { outputs, alone } = await signatureOfFile(file)
    expect(alone).toBeUndefined()
    expect(outputs).toMatchObject([
      { name: 'label', shape: [-1], itemAxis: 0 },
      { name: 'probabilities', itemAxis: 0 },
    ])
  })

  it('run alone or share runs as the settings say', async () => {
    const unwanted = await signatureOf('linear layer', { batches: false })
    expect(unwanted.alone).toBe('its settings say batches: false')
    const wanted = await signatureOf('quantised by the largest', { batches: true })
    expect(wanted.alone).toBeUndefined()
    expect(wanted.outputs).toMatchObject([{ name: 'y', itemAxis: 0 }])
  })

  it('have their items along the axes of the settings', async () => {
    const itemAxes = { x: 1 }
    const shown = await signatureOf('LSTM over [seq, batch, n]', { itemAxes })
    expect(shown).toMatchObject({ outputs: [{ itemAxis: 1 }, { itemAxis: 0 }] })
    expect(shown.alone).toBeUndefined()
    const mixed = await signatureOf('LSTM over [seq, batch, n]', { itemAxes: { x: 0 } })
    expect(mixed.alone).toBe('LSTM over axis 0')
  })

  it('are refused with item axes that the model does not have', async () => {
    await expect(signatureOf('linear layer', { itemAxes: { z: 0 } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('item-axes has "z"; the tensors are x, y'),
    })
    await expect(signatureOf('linear layer', { itemAxes: { x: 2 } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })
})
