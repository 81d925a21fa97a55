import { describe, expect, it } from 'vitest'
import {
  decodeModelDelta,
  deltasTopic,
  encodeModelDelta,
  type ModelDelta,
  modelDeltaSize,
  writeModelDelta,
} from '../../src/models/model-delta.ts'

const DELTA: ModelDelta = {
  kind: 'step',
  lane: 5,
  partition: 3,
  offset: 2 ** 32 + 7,
  values: Float32Array.of(1, -0.5),
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('a model delta', () => {
  it('has the bytes that docs/reference/model-topic.md shows', () => {
    expect(hex(encodeModelDelta(DELTA))).toBe(
      '01000500' + '03000000' + '0700000001000000' + '0000803f' + '000000bf',
    )
    expect(hex(encodeModelDelta({ ...DELTA, kind: 'gram' })).slice(0, 8)).toBe('01010500')
  })

  it('is read as it was written, from bytes at any place', () => {
    expect(decodeModelDelta(encodeModelDelta(DELTA))).toEqual(DELTA)
    const shifted = new Uint8Array(1 + modelDeltaSize(2))
    shifted.set(encodeModelDelta(DELTA), 1)
    expect(decodeModelDelta(shifted.subarray(1))).toEqual(DELTA)
  })

  it('keeps every offset that a number can hold', () => {
    for (const offset of [0, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
      expect(decodeModelDelta(encodeModelDelta({ ...DELTA, offset })).offset).toBe(offset)
    }
  })

  it('uses the buffers that it is given', () => {
    const target = new Uint8Array(modelDeltaSize(2)).fill(255)
    writeModelDelta(target, DELTA)
    expect(target).toEqual(encodeModelDelta(DELTA))
    const into = new Float32Array(2)
    expect(decodeModelDelta(target, into).values).toBe(into)
    expect(decodeModelDelta(target, new Float32Array(3)).values).toHaveLength(2)
  })

  it.each([
    ['too short', (bytes: Uint8Array) => bytes.subarray(0, 16)],
    ['of a broken length', (bytes: Uint8Array) => bytes.subarray(0, 23)],
    ['of another format', (bytes: Uint8Array) => bytes.fill(2, 0, 1)],
    ['of an unknown kind', (bytes: Uint8Array) => bytes.fill(9, 1, 2)],
    ['with an offset above 2^53', (bytes: Uint8Array) => bytes.fill(255, 8, 16)],
    ['with an infinity', (bytes: Uint8Array) => bytes.fill(0x7f, 19, 20).fill(0x80, 18, 19)],
    ['with NaN', (bytes: Uint8Array) => bytes.fill(255, 16)],
  ])('that is %s is refused', (_, spoil) => {
    expect(() => decodeModelDelta(spoil(encodeModelDelta(DELTA)))).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD' }),
    )
  })

  it('cannot be written for what is no partition or offset', () => {
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    expect(() => encodeModelDelta({ ...DELTA, partition: -1 })).toThrow(invalid)
    expect(() => encodeModelDelta({ ...DELTA, offset: 0.5 })).toThrow(invalid)
  })

  it('lies in the topic of the rows followed by -deltas', () => {
    expect(deltasTopic('als-model')).toBe('als-model-deltas')
  })
})
