import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import {
  encodeSequenceKey,
  readSequence,
  type StoredSequence,
  writeSequence,
} from '../../../src/inference/sequences/stored-sequence.ts'

const SEQUENCE: StoredSequence = {
  model: 'vad',
  id: 'call-1',
  version: 'ab12',
  step: 5,
  beginning: '0f9a3c52b7d1',
  isWhole: true,
  expiresAtMs: 1_700_000_060_000,
  carried: [
    { name: 'h', datatype: 'FP16', shape: [2, 1], data: Uint8Array.of(1, 2, 3, 4) },
    { name: 'n', datatype: 'INT64', shape: [], data: Uint8Array.of(8, 7, 6, 5, 4, 3, 2, 1) },
  ],
}

function bytesOf(sequence: StoredSequence): Uint8Array {
  const writer = new ByteWriter(1)
  writeSequence(writer, sequence)
  return writer.toBytes()
}

const KEY = encodeSequenceKey(SEQUENCE)
const VALUE = bytesOf(SEQUENCE)

/** The value with another byte. */
const changed = (at: number, byte: number): Uint8Array => VALUE.with(at, byte)

describe('a sequence in a checkpoint', () => {
  it.each([
    SEQUENCE,
    { ...SEQUENCE, isWhole: false, carried: [] },
    { ...SEQUENCE, id: 'ü 中', step: 2 ** 40 },
    {
      ...SEQUENCE,
      carried: [{ name: '', datatype: 'FP32', shape: [0, 3], data: new Uint8Array() }],
    },
  ] satisfies StoredSequence[])('is read as it was written: %#', (sequence) => {
    expect(readSequence(encodeSequenceKey(sequence), bytesOf(sequence))).toEqual(sequence)
  })

  it('has these bytes', () => {
    expect(Buffer.from(KEY).toString('hex')).toBe('037661640663616c6c2d31')
    expect(Buffer.from(VALUE).toString('hex')).toBe(
      [
        '6052e6cf8b010000', // expiry
        '0101', // format, flags
        '0500000000000000', // step
        '0c306639613363353262376431', // beginning
        '0461623132', // version
        '02', // tensors
        '01680446503136', // h FP16
        '0202000000000000000100000000000000',
        '0401020304',
        '016e05494e543634', // n INT64
        '00',
        '080807060504030201',
      ].join(''),
    )
  })

  it('keeps no view of the bytes that it was read from', () => {
    const bytes = VALUE.slice()
    const read = readSequence(KEY, bytes)
    bytes.fill(0)
    expect(read).toEqual(SEQUENCE)
  })

  it('of a later format is refused', () => {
    expect(() => readSequence(KEY, changed(8, 2))).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_VERSION' }),
    )
  })

  it.each([
    ['is cut off', VALUE.subarray(0, -1), 'bytes expected'],
    ['goes on', Uint8Array.of(...VALUE, 0), '1 bytes follow a sequence'],
    ['has more tensors than bytes', changed(36, 0x7f), 'a count of 127 is more than the bytes'],
    ['has a datatype that there is none of', changed(42, 0x39), 'no datatype is named "FP96"'],
    [
      'has a state of another length than its shape',
      changed(45, 3),
      'has 4 bytes, and its shape 6',
    ],
  ])('that %s is refused', (_what, value, sentence) => {
    expect(() => readSequence(KEY, value)).toThrow(sentence)
  })
})
