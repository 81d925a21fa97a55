import { describe, expect, it } from 'vitest'
import { maxItemsOf, queueShapeOf } from '../../../src/inference/engine/deployment-plan.ts'
import type { ModelSignature, TensorSpec } from '../../../src/inference/port/signature.ts'

const MIB = 2 ** 20
const spec = (name: string, ...shape: number[]): TensorSpec => ({ name, datatype: 'FP32', shape })
const ALONE: ModelSignature = {
  inputs: [spec('x', -1, 4)],
  outputs: [{ ...spec('label', 1), itemAxis: null }],
  alone: 'its rows are mixed',
}

describe('the slots of a model whose requests run alone', () => {
  it('have room for as many rows as a free shape, also where the file says that the output has one', () => {
    const { inputBytes, outputBytes } = queueShapeOf(ALONE, { sloMs: 1 })
    expect(inputBytes).toBeGreaterThanOrEqual(MIB)
    expect(outputBytes).toBeGreaterThanOrEqual(MIB)
    expect(maxItemsOf(ALONE, { sloMs: 1, maxBatchItems: 8 })).toBe(1)
  })

  it('have the room of their tensors where no size is free', () => {
    const fixed = { ...ALONE, inputs: [{ ...spec('x', 1, 4), itemAxis: null }] }
    const { inputBytes, outputBytes } = queueShapeOf(fixed, { sloMs: 1 })
    expect(inputBytes).toBeLessThan(200)
    expect(outputBytes).toBeLessThan(200)
  })

  it('share the room among three hundred inputs, and among many slots', () => {
    const inputs = Array.from({ length: 300 }, (_, i) => spec(`x${i}`, -1, 1))
    for (const queueCapacity of [256, 4096]) {
      const shape = queueShapeOf({ ...ALONE, inputs }, { sloMs: 1, queueCapacity })
      expect(shape.capacity * (shape.inputBytes + shape.outputBytes)).toBeLessThan(2 ** 31)
    }
  })
})

it('a shared run has at most as many items as the model and its settings allow', () => {
  const shared: ModelSignature = { inputs: ALONE.inputs, outputs: ALONE.outputs }
  expect(maxItemsOf(shared, { sloMs: 1 })).toBe(64)
  expect(maxItemsOf({ ...shared, maxItems: 8 }, { sloMs: 1 })).toBe(8)
  expect(maxItemsOf(shared, { sloMs: 1, maxBatchItems: 5 })).toBe(5)
})
