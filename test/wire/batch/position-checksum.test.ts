import { expect, it } from 'vitest'
import {
  checkPosition,
  checkStoredBatch,
  hasPositionChecksum,
  markOf,
  NO_MARK,
  placeBatch,
} from '../../../src/wire/batch/position-checksum.ts'
import { baseOffsetOf } from '../../../src/wire/batch/record-batch-format.ts'
import { RecordBatchWriter } from '../../../src/wire/batch/record-batch-writer.ts'

const MARK = 0x0f0f0f0f

function batch(): Uint8Array {
  const writer = new RecordBatchWriter()
  writer.append(null, new TextEncoder().encode('v'), 1000)
  return writer.finish().slice()
}

const prefixOf = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, 17)).toString('hex')

it('a stored batch has a checksum of its base offset and length in the leader epoch', () => {
  const stored = batch()
  placeBatch(stored, 0, { baseOffset: 258, mark: NO_MARK })
  expect(prefixOf(stored)).toBe(
    '0000000000000102' + // base offset
      '00000039' + // batch length
      '7c239361' + // CRC-32C of the 12 bytes before, without its highest bit
      '02', // magic
  )
  expect(checkStoredBatch(stored, 0, { end: stored.length, mark: NO_MARK })).toBe(stored.length)
})

it('a batch of an earlier release has the leader epoch -1 and is read without this check', () => {
  const stored = batch()
  expect(prefixOf(stored)).toBe('000000000000000000000039ffffffff02')
  expect(hasPositionChecksum(stored, 0)).toBe(false)
  expect(checkStoredBatch(stored, 0, { end: stored.length, mark: NO_MARK })).toBe(stored.length)
})

it('each flipped bit of base offset, length and checksum is found', () => {
  for (let bit = 0; bit < 128; bit++) {
    const stored = batch()
    placeBatch(stored, 0, { baseOffset: 2 ** 40 + 12_345, mark: MARK })
    stored[bit >> 3]! ^= 1 << (bit & 7)
    expect(() => checkPosition(stored, 0, MARK), `bit ${bit}`).toThrow(
      /checksum of its base offset/,
    )
  }
})

it('a batch inside a buffer is placed there', () => {
  const one = batch()
  const stored = Buffer.concat([one, one])
  placeBatch(stored, one.length, { baseOffset: 7, mark: NO_MARK })
  expect(baseOffsetOf(stored, one.length)).toBe(7)
  expect(hasPositionChecksum(stored, 0)).toBe(false)
  expect(() => checkPosition(stored, one.length, NO_MARK)).not.toThrow()
})

it('the checksum has the mark of the partition, and another mark is refused', () => {
  const stored = batch()
  placeBatch(stored, 0, { baseOffset: 258, mark: MARK })
  // 7c239361 XOR 0f0f0f0f
  expect(prefixOf(stored).slice(24, 32)).toBe('732c9c6e')
  expect(markOf(stored, 0)).toBe(MARK)
  expect(() => checkPosition(stored, 0, MARK)).not.toThrow()
  expect(() => checkPosition(stored, 0, NO_MARK)).toThrow('is of another partition')
  expect(() => checkPosition(stored, 0, 0x0f0f0f0e)).toThrow('is of another partition')
})

it('a batch without a mark, as earlier releases wrote, is taken in every partition', () => {
  const stored = batch()
  placeBatch(stored, 0, { baseOffset: 3, mark: NO_MARK })
  expect(() => checkPosition(stored, 0, MARK)).not.toThrow()
  expect(markOf(batch(), 0)).toBe(NO_MARK)
})
