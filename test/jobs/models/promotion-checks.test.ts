import { describe, expect, it } from 'vitest'
import { DEFAULT_SETTINGS } from '../../../src/inference/repository/settings.ts'
import {
  checkMemory,
  outputDifference,
  signatureDifference,
} from '../../../src/jobs/models/promotion-checks.ts'
import { rawOfJson } from '../../../src/wire/inference/json-tensor.ts'

const tensor = (name: string, ...shape: number[]) => ({ name, datatype: 'FP32', shape }) as const
const live = { inputs: [tensor('x', -1, 2)], outputs: [tensor('y', -1)] }

describe('the signature of the next version', () => {
  it('may have more outputs, and sizes that are free now', () => {
    expect(signatureDifference(live, live)).toBe(undefined)
    const wider = { inputs: [tensor('x', -1, -1)], outputs: [...live.outputs, tensor('z', -1)] }
    expect(signatureDifference(live, wider)).toBe(undefined)
  })

  it.each([
    [{ ...live, inputs: [] }, 'the live version has the input "x", this one has not'],
    [{ ...live, outputs: [tensor('z', -1)] }, 'the live version has the output "y"'],
    [{ ...live, inputs: [tensor('x', -1, 3)] }, 'is FP32 [-1, 2] now and FP32 [-1, 3] here'],
    [{ ...live, inputs: [tensor('x', 1, 2)] }, 'is FP32 [-1, 2] now and FP32 [1, 2] here'],
    [{ ...live, inputs: [{ ...tensor('x', -1, 2), datatype: 'INT32' as const }] }, 'INT32'],
    [{ ...live, inputs: [...live.inputs, tensor('w', 1)] }, 'the input "w" is new'],
  ])('is refused when clients would fail (%#)', (next, message) => {
    expect(signatureDifference(live, next)).toContain(message)
  })
})

describe('outputs of golden inputs', () => {
  const y = (...data: number[]) =>
    rawOfJson({ name: 'y', datatype: 'FP32', shape: [data.length], data })

  it('are compared with a tolerance; NaN is equal to NaN only', () => {
    expect(outputDifference([y(1, 2)], [y(1.00005, 2)], 1e-4)).toBe(undefined)
    expect(outputDifference([y(1, 2)], [y(1.1, 2)], 1e-4)).toContain('element 0 of "y"')
    expect(outputDifference([y(Number.NaN)], [y(Number.NaN)], 1)).toBe(undefined)
    expect(outputDifference([y(1)], [y(Number.NaN)], 1)).toContain('is NaN')
    expect(outputDifference([y(1)], [y(1, 2)], 1)).toBe('"y" is FP32 [2], not FP32 [1]')
    expect(outputDifference([y(1)], [], 1)).toBe('no output is named "y"')
  })
})

describe('the memory of the next version', () => {
  const MIB = 2 ** 20
  const source = { kind: 'onnx', file: 'model.onnx' } as const
  const engine = { measure: async () => 30 * MIB }
  const settings = (maxMemoryBytes: number | undefined, memoryBytes?: number) => ({
    ...DEFAULT_SETTINGS,
    deployment: { sloMs: 20, ...(memoryBytes === undefined ? {} : { memoryBytes }) },
    checks: { ...DEFAULT_SETTINGS.checks, maxMemoryBytes },
  })

  it('is measured where a check asks for it, and counts from then on', async () => {
    expect(await checkMemory(engine, source, settings(undefined))).toEqual({ sloMs: 20 })
    expect(await checkMemory(engine, source, settings(30 * MIB))).toEqual({
      sloMs: 20,
      memoryBytes: 30 * MIB,
    })
    // What the settings declare counts, also when another size was measured.
    expect(await checkMemory(engine, source, settings(40 * MIB, 35 * MIB))).toEqual({
      sloMs: 20,
      memoryBytes: 35 * MIB,
    })
  })

  it('is refused above the limit; a model on another server has none', async () => {
    await expect(checkMemory(engine, source, settings(29 * MIB))).rejects.toMatchObject({
      code: 'PROMOTION_REFUSED',
      message: expect.stringContaining('30.0 MiB, above max-memory 29.0 MiB'),
    })
    const remote = { kind: 'remote', url: 'http://127.0.0.1:1', model: 'm' } as const
    expect(await checkMemory(engine, remote, settings(1))).toEqual({ sloMs: 20 })
  })
})
