import { describe, expect, it } from 'vitest'
import type { ModelSignature } from '../../../src/inference/port/signature.ts'
import {
  dividedOutputs,
  requireCarried,
  startTensors,
} from '../../../src/inference/sequences/carried.ts'

const MODEL: ModelSignature = {
  inputs: [
    { name: 'x', datatype: 'FP32', shape: [-1, 4] },
    { name: 'h', datatype: 'FP16', shape: [2, -1, 3] },
    { name: 'words', datatype: 'BYTES', shape: [1] },
  ],
  outputs: [
    { name: 'y', datatype: 'FP32', shape: [-1, 1] },
    { name: 'hn', datatype: 'FP16', shape: [2, -1, 3] },
    { name: 'out', datatype: 'BYTES', shape: [1] },
  ],
}

const settings = (...carried: { input: string; output: string; shape?: readonly number[] }[]) => ({
  carried,
  ttlMs: 1,
  most: 1,
})

describe('tensors that a model carries', () => {
  it('begin as zeros of the shape of the input, with 1 for what is free, or of the given shape', () => {
    const [start] = startTensors(MODEL, [{ input: 'h', output: 'hn' }])
    expect(start).toEqual({
      name: 'h',
      datatype: 'FP16',
      shape: [2, 1, 3],
      data: new Uint8Array(12),
    })
    const [wide] = startTensors(MODEL, [{ input: 'h', output: 'hn', shape: [2, 5, 3] }])
    expect(wide).toMatchObject({ shape: [2, 5, 3], data: new Uint8Array(60) })
  })

  it('are not answered, and are the next inputs', () => {
    const data = Uint8Array.of(1)
    const outputs = [
      { name: 'y', datatype: 'FP32' as const, shape: [1, 1], data },
      { name: 'hn', datatype: 'FP16' as const, shape: [2, 1, 3], data },
    ]
    expect(dividedOutputs(outputs, [{ input: 'h', output: 'hn' }])).toEqual({
      answered: [outputs[0]],
      next: [{ ...outputs[1], name: 'h' }],
    })
  })

  it.each([
    [{ input: 'hh', output: 'hn' }, 'no input "hh"; did you mean "h"?'],
    [{ input: 'h', output: 'hm' }, 'no output "hm"; did you mean "hn"?'],
    [{ input: 'h', output: 'y' }, 'the input is FP16 and the output y is FP32'],
    [{ input: 'words', output: 'out' }, 'a state is numbers of one datatype'],
    [
      { input: 'h', output: 'hn', shape: [2, 1] },
      'the shape [2,1] does not fit the input, which is [2,-1,3]',
    ],
    [{ input: 'h', output: 'hn', shape: [3, 1, 3] }, 'does not fit the input'],
  ])('are refused at the load where the model has no such pair: %o', (carried, message) => {
    expect(() => requireCarried(MODEL, settings(carried))).toThrow(message)
  })

  it('are accepted where they fit, and none is', () => {
    requireCarried(MODEL, settings({ input: 'h', output: 'hn' }))
    requireCarried(MODEL, undefined)
  })
})
