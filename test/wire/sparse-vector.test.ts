import { describe, expect, it } from 'vitest'
import { BIAS_FEATURE, MAX_FEATURE } from '../../src/core/feature.ts'
import { seededRandom } from '../../src/core/random.ts'
import { KIND, REQUEST_FLAG } from '../../src/wire/frame.ts'
import type { SparseVector } from '../../src/wire/model-reader.ts'
import { beginRequest, RequestCursor } from '../../src/wire/request.ts'
import { UnpackedVector, withBiasFeature, writeSparseVector } from '../../src/wire/sparse-vector.ts'
import { frameOf, hex, written } from './example-frames.ts'

const LIVE = { level: 'live' } as const
const vectorOf = (ids: readonly number[], values: readonly number[]): SparseVector => ({
  ids: Uint32Array.from(ids),
  values: Float32Array.from(values),
})

/** A frame that holds these vectors. */
function frame(vectors: readonly SparseVector[], withBias = false): Uint8Array {
  return written((writer) => {
    beginRequest(writer, KIND.sparseDot, REQUEST_FLAG.packed, 1, {
      state: 'W',
      version: 0,
      deadlineMs: 1000,
      consistency: LIVE,
    })
    for (const vector of vectors) writeSparseVector(writer, vector, withBias)
    writer.end(vectors.length)
  })
}

function cursorOn(bytes: Uint8Array): RequestCursor {
  const cursor = new RequestCursor()
  cursor.open(frameOf(bytes))
  cursor.readPreamble()
  return cursor
}

describe('a packed sparse vector', () => {
  it('has bytes that never change', () => {
    const bytes = frame([vectorOf([0, 1, 130, 70_000], [1, 0.5, -2, 3])])
    expect(hex(bytes.subarray(37))).toBe(
      '04' + '0000803f' + '0000003f' + '000000c0' + '00004040' + '00' + '00' + '8001' + 'eda104',
    )
  })

  it('ends with the constant feature on request', () => {
    const bytes = frame([vectorOf([1], [2])], true)
    expect(hex(bytes.subarray(37))).toBe('02' + '00000040' + '0000803f' + '01' + 'fdffffff0f')
  })

  it('reads back what was written, several to a frame, at any size', () => {
    const random = seededRandom(3)
    const unpacked = new UnpackedVector()
    for (const size of [0, 1, 2, 300, 5000]) {
      const ids = new Set(Array.from({ length: size }, () => random.below(MAX_FEATURE)))
      const sorted = [...ids].sort((a, b) => a - b)
      const vector = vectorOf(
        sorted,
        sorted.map(() => random.normal()),
      )
      const cursor = cursorOn(frame([vector, vectorOf([MAX_FEATURE], [1]), vector], true))
      for (const expected of [vector, vectorOf([MAX_FEATURE], [1]), vector]) {
        unpacked.read(cursor)
        expect(unpacked.copy()).toEqual(withBiasFeature(expected))
      }
      cursor.finish()
    }
  })

  it('is sorted where its ids fall, and adds up the values of an id that comes again', () => {
    const given = vectorOf([300, 7, 300, 2], [1, 2, 0.5, 4])
    const merged = vectorOf([2, 7, 300], [4, 2, 1.5])
    expect(hex(frame([given, given], true))).toBe(hex(frame([merged, merged], true)))
    expect(given).toEqual(vectorOf([300, 7, 300, 2], [1, 2, 0.5, 4]))
  })

  it('is refused with a missing value', () => {
    expect(() => frame([vectorOf([3, 4], [1])])).toThrow('as many ids as values')
    expect(() => frame([vectorOf([4, 3], [1])])).toThrow('as many ids as values')
  })

  it('is refused with a second constant feature', () => {
    expect(() => frame([vectorOf([BIAS_FEATURE], [1])], true)).toThrow('constant feature')
  })

  it('has the constant feature at the largest id', () => {
    expect(BIAS_FEATURE).toBe(0xffffffff)
  })
})

describe('a malformed packed vector is a protocol error', () => {
  const body = (...bytes: number[]): Uint8Array =>
    written((writer) => {
      const preamble = { state: 'W', version: 0, deadlineMs: 1000, consistency: LIVE }
      beginRequest(writer, KIND.sparseDot, REQUEST_FLAG.packed, 1, preamble)
      writer.raw(Uint8Array.from(bytes))
      writer.end(1)
    })

  it.each([
    ['more features than bytes', [9, 0, 0, 0, 0, 1]],
    ['a count of more than 32 bits', [0xff, 0xff, 0xff, 0xff, 0xff, 1]],
    ['no count', []],
    ['an id of more than 32 bits', [1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x7f]],
    ['an id that is cut off', [1, 0, 0, 0, 0, 0xff]],
    ['ids beyond the last', [2, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]],
  ])('with %s', (_, bytes) => {
    const vector = new UnpackedVector()
    expect(() => vector.read(cursorOn(body(...bytes)))).toThrow(
      expect.objectContaining({ code: 'PROTOCOL_ERROR' }),
    )
  })
})
