import { describe, expect, it } from 'vitest'
import { ModelDeltaBuffer } from '../../../../src/models/als/online/model-delta.ts'

const BYTES = '03000500' + '03000000' + '0700000001000000' + '01fe0000' + '0000803f' + '000000bf'
/** The same of a build before tags. */
const UNTAGGED = '02000500' + '03000000' + '0700000001000000' + '0000803f' + '000000bf'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const ofHex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'))

/** The bytes of a delta of two floats. */
function written(kind: 'step' | 'gram' = 'step', offset = 2 ** 32 + 7): Uint8Array {
  const buffer = new ModelDeltaBuffer(kind, 2)
  buffer.setOrigin(5, 3, offset, 0xfe01)
  buffer.values.set([1, -0.5])
  return buffer.bytes
}

describe('a model delta', () => {
  it('has the bytes that docs/reference/model-topic.md shows', () => {
    expect(hex(written())).toBe(BYTES)
    expect(hex(written('gram')).slice(0, 8)).toBe('03010500')
  })

  it('is read as it was written, from bytes at any place', () => {
    for (const start of [0, 1, 2, 3]) {
      const shifted = new Uint8Array(start + 28)
      shifted.set(ofHex(BYTES), start)
      const buffer = new ModelDeltaBuffer('step', 2)
      buffer.load(shifted, start, 28)
      const { sourceKeyGroup, partition, offset, attemptTag, values } = buffer
      expect({ sourceKeyGroup, partition, offset, attemptTag }).toEqual({
        sourceKeyGroup: 5,
        partition: 3,
        offset: 2 ** 32 + 7,
        attemptTag: 0xfe01,
      })
      expect(values).toEqual(Float32Array.of(1, -0.5))
    }
  })

  it('keeps every offset that a number can hold', () => {
    const buffer = new ModelDeltaBuffer('step', 2)
    for (const offset of [0, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
      buffer.load(written('step', offset), 0, 28)
      expect(buffer.offset).toBe(offset)
    }
  })

  it('of an odd number of floats is read whole', () => {
    const from = new ModelDeltaBuffer('gram', 3)
    from.values.set([1, 2, 3])
    const to = new ModelDeltaBuffer('gram', 3)
    to.load(from.bytes, 0, from.bytes.length)
    expect(to.bytes).toEqual(from.bytes)
  })

  it('of format 2 is read as of an attempt that nobody knows, after one with a tag', () => {
    const buffer = new ModelDeltaBuffer('step', 2)
    buffer.load(written(), 0, 28)
    buffer.load(ofHex(UNTAGGED), 0, 24)
    const { sourceKeyGroup, partition, offset, attemptTag, values } = buffer
    expect([sourceKeyGroup, partition, offset, attemptTag]).toEqual([5, 3, 2 ** 32 + 7, 0])
    expect(values).toEqual(Float32Array.of(1, -0.5))
    const cut = ofHex(BYTES).fill(2, 0, 1)
    expect(() => buffer.load(cut, 0, cut.length)).toThrow('28 bytes')
  })

  it('of format 1 is read with no newcomer as the last float', () => {
    const buffer = new ModelDeltaBuffer('step', 3)
    buffer.values.fill(9)
    const earlier = ofHex(UNTAGGED)
    earlier[0] = 1
    buffer.load(earlier, 0, earlier.length)
    expect(buffer.values).toEqual(Float32Array.of(1, -0.5, 0))
    expect(() => new ModelDeltaBuffer('step', 2).load(earlier, 0, earlier.length)).toThrow(
      '24 bytes',
    )
  })

  it('takes the place of the one before it in the buffer', () => {
    const buffer = new ModelDeltaBuffer('step', 2)
    buffer.load(written('step', 9), 0, 28)
    buffer.load(ofHex(BYTES), 0, 28)
    expect(hex(buffer.bytes)).toBe(BYTES)
  })

  it.each([
    ['too short', (bytes: Uint8Array) => bytes.subarray(0, 20)],
    ['of a broken length', (bytes: Uint8Array) => bytes.subarray(0, 27)],
    ['of another number of floats', (bytes: Uint8Array) => bytes.subarray(0, 24)],
    ['of a later format', (bytes: Uint8Array) => bytes.fill(4, 0, 1)],
    ['of no format', (bytes: Uint8Array) => bytes.fill(0, 0, 1)],
    ['of another kind', (bytes: Uint8Array) => bytes.fill(1, 1, 2)],
    ['of an unknown kind', (bytes: Uint8Array) => bytes.fill(9, 1, 2)],
    ['with an offset above 2^53', (bytes: Uint8Array) => bytes.fill(255, 8, 16)],
    ['with an infinity', (bytes: Uint8Array) => bytes.fill(0x7f, 23, 24).fill(0x80, 22, 23)],
    ['with NaN', (bytes: Uint8Array) => bytes.fill(255, 20)],
  ])('that is %s is refused', (_, spoil) => {
    const spoiled = spoil(written())
    expect(() => new ModelDeltaBuffer('step', 2).load(spoiled, 0, spoiled.length)).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD' }),
    )
  })
})
