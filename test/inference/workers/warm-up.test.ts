import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import type { LoadedModel } from '../../../src/inference/port/runner.ts'
import type { ModelSignature } from '../../../src/inference/port/signature.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { warmUp } from '../../../src/inference/workers/warm-up.ts'

const SIGNATURE: ModelSignature = {
  inputs: [
    { name: 'x', datatype: 'FP32', shape: [-1, 2] },
    { name: 'scale', datatype: 'FP32', shape: [1], itemAxis: null },
  ],
  outputs: [],
}

/** What each run got. */
type Runs = { readonly items: number; readonly inputs: readonly Tensor[] }[]

function modelOf(runs: Runs, signature = SIGNATURE): LoadedModel {
  return {
    signature,
    run: async (inputs, items) => {
      runs.push({ inputs, items })
      return []
    },
    close: async () => {},
  }
}

const tensor = (name: string, shape: readonly number[]): Tensor => ({
  name,
  datatype: 'FP32',
  shape,
  data: new Uint8Array(4 * shape.reduce((a, b) => a * b, 1)).fill(7),
})

describe('a warm-up', () => {
  it('runs zeros for one item and for the largest batch in turn', async () => {
    const runs: Runs = []
    await warmUp(modelOf(runs), { runs: 3 }, 8)
    expect(runs.map(({ items }) => items)).toEqual([1, 8, 1])
    expect(runs[1]!.inputs.map(({ shape, data }) => [shape, data.length])).toEqual([
      [[8, 2], 64],
      [[1], 4],
    ])
    expect(runs[1]!.inputs[0]!.data.every((byte) => byte === 0)).toBe(true)
  })

  it('gives a model no more items than it takes', async () => {
    const runs: Runs = []
    await warmUp(modelOf(runs, { ...SIGNATURE, maxItems: 1 }), { runs: 2 }, 8)
    expect(runs.map(({ items }) => items)).toEqual([1, 1])
  })

  it('runs the samples in turn, in the order of the signature', async () => {
    const runs: Runs = []
    const samples = [
      [tensor('scale', [1]), tensor('x', [3, 2])],
      [tensor('x', [5, 2]), tensor('scale', [1])],
    ]
    await warmUp(modelOf(runs), { runs: 3, samples }, 8)
    expect(runs.map(({ items }) => items)).toEqual([3, 5, 3])
    expect(runs[0]!.inputs.map(({ name }) => name)).toEqual(['x', 'scale'])
  })

  it('leaves out samples of another signature', async () => {
    const runs: Runs = []
    const samples = [[tensor('x', [3, 2])], [tensor('x', [5, 2]), tensor('scale', [1])]]
    await warmUp(modelOf(runs), { runs: 2, samples }, 8)
    expect(runs.map(({ items }) => items)).toEqual([5, 5])
  })

  it('goes on when the model refuses a run', async () => {
    const runs: Runs = []
    const model = modelOf(runs)
    const refusing: LoadedModel = {
      ...model,
      run: async (inputs, items) => {
        await model.run(inputs, items)
        throw new WeirError('MODEL_FAILED', 'zeros are not allowed')
      },
    }
    await warmUp(refusing, { runs: 2 }, 4)
    expect(runs).toHaveLength(2)
  })
})
