import { describe, expect, it } from 'vitest'
import { decodeFetchAnswer } from '../../../../../src/connectors/kafka/client/answers/fetch-answer.ts'
import { seededRandom } from '../../../../../src/core/random.ts'

const RECORDS = Buffer.from('some records')

/** Numbers of an answer in the order of the protocol, big-endian: bytes of each, and its value. */
function packed(...fields: readonly (readonly [1 | 2 | 4 | 8, number])[]): Buffer {
  const buffer = Buffer.alloc(fields.reduce((sum, [size]) => sum + size, 0))
  let at = 0
  for (const [size, value] of fields) {
    if (size === 8) buffer.writeBigInt64BE(BigInt(value), at)
    else buffer.writeIntBE(value, at, size)
    at += size
  }
  return buffer
}

/** An answer with one topic and one partition, which has one aborted transaction and `RECORDS`. */
function answer(tags = Buffer.alloc(1)): Buffer {
  return Buffer.concat([
    packed([4, 0], [2, 0], [4, 0], [1, 2]),
    Buffer.alloc(16),
    packed([1, 2], [4, 7], [2, 0], [8, 100], [8, 90], [8, 10]),
    packed([1, 2], [8, 4], [8, 50], [1, 0], [4, -1], [1, RECORDS.length + 1]),
    RECORDS,
    tags,
    Buffer.alloc(2),
  ])
}

/** The largest varuint: an array of 4,294,967,294 elements, or as many bytes. */
const LYING = Buffer.from('ffffffff0f', 'hex')
const malformed = expect.objectContaining({ code: 'MALFORMED_DATA' })

describe('the answer to a fetch', () => {
  it('has each partition with its bounds, aborted transactions and records', () => {
    const { error, partitions } = decodeFetchAnswer(answer())
    expect({ error, partitions }).toMatchObject({
      error: 0,
      partitions: [{ partition: 7, error: 0, limit: 90, highWatermark: 100, logStart: 10 }],
    })
    expect(partitions[0]!.aborted).toMatchObject([{ producerId: 4, firstOffset: 50 }])
    expect(Buffer.from(partitions[0]!.records)).toEqual(RECORDS)
  })

  it('says when the log of the leader is not the one that was read', () => {
    expect(decodeFetchAnswer(answer()).partitions[0]!.diverging).toBe(false)
    // Tag 1 is the leader, tag 0 the epoch and offset from which on the log differs: here 9 and 100.
    const leader = packed([1, 1], [1, 9], [4, 2], [4, 8], [1, 0])
    const diverging = packed([1, 0], [1, 13], [4, 9], [8, 100], [1, 0])
    const tags = Buffer.concat([packed([1, 2]), diverging, leader])
    expect(decodeFetchAnswer(answer(tags)).partitions).toMatchObject([
      { partition: 7, diverging: true },
    ])
    const other = Buffer.concat([packed([1, 1]), leader])
    expect(decodeFetchAnswer(answer(other)).partitions).toMatchObject([{ diverging: false }])
  })

  it('of 15 bytes that claim four thousand million topics is refused', () => {
    const lie = Buffer.concat([packed([4, 0], [2, 0], [4, 0]), LYING])
    expect(() => decodeFetchAnswer(lie)).toThrow(malformed)
  })

  it('is refused wherever it is cut off', () => {
    const whole = answer()
    // The last byte, the tagged fields of the answer itself, is not needed.
    for (let length = 0; length < whole.length - 1; length++) {
      expect(() => decodeFetchAnswer(whole.subarray(0, length))).toThrow(malformed)
    }
  })

  it('is read or refused with any number of wrong bytes, and holds no more than was sent', () => {
    const random = seededRandom(1)
    for (let round = 0; round < 2000; round++) {
      const bytes = answer()
      for (let n = random.below(4); n >= 0; n--) {
        const at = random.below(bytes.length)
        if (random.below(4) === 0) LYING.copy(bytes, at)
        else bytes[at] = random.below(256)
      }
      try {
        const { partitions } = decodeFetchAnswer(bytes)
        expect(partitions.length).toBeLessThan(bytes.length)
      } catch (error) {
        expect(error).toEqual(malformed)
      }
    }
  })
})
