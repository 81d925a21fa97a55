import { describe, expect, it } from 'vitest'
import { isWeirError } from '../../../src/core/errors.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { encodeControlBatch, readControlType } from '../../../src/wire/batch/control-record.ts'
import type { RecordHeader } from '../../../src/wire/batch/record-batch-format.ts'
import { RecordBatchReader } from '../../../src/wire/batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../../src/wire/batch/record-batch-writer.ts'
import { campaignSize } from '../../run/campaign-size.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

interface TestRecord {
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly timestamp: number
  readonly offset: number
  readonly headers: readonly RecordHeader[]
}

function randomBytes(random: Random, maxLength: number): Uint8Array | null {
  if (random.below(8) === 0) return null
  return Uint8Array.from({ length: random.below(maxLength) }, () => random.below(256))
}

function randomRecords(random: Random, base: number): TestRecord[] {
  let offset = base - 1
  const spread = [1, 1000, 2 ** 31, 2 ** 50][random.below(4)]!
  return Array.from({ length: random.below(20) }, () => {
    offset += 1 + (random.below(3) === 0 ? random.below(100_000) : 0)
    const headers: RecordHeader[] = Array.from({ length: random.below(3) }, (_, i) => ({
      key: `h${i}é`,
      value: randomBytes(random, 10),
    }))
    const timestamp = Math.floor(random.next() * spread)
    return {
      key: randomBytes(random, 60),
      value: randomBytes(random, random.below(20) === 0 ? 9_000 : 100),
      timestamp,
      offset,
      headers,
    }
  })
}

function encode(writer: RecordBatchWriter, base: number, records: readonly TestRecord[]): void {
  writer.reset(base)
  for (const record of records) {
    writer.append(record.key, record.value, record.timestamp, record.offset - base, record.headers)
  }
}

function decode(reader: RecordBatchReader): TestRecord[] {
  const records: TestRecord[] = []
  while (reader.next()) {
    const headers = reader.headers()
    for (const { key } of [...headers, { key: 'another' }]) {
      const first = headers.find((header) => header.key === key)?.value
      expect(reader.header(bytes(key))).toEqual(first)
    }
    records.push({
      key: reader.key()?.slice() ?? null,
      value: reader.value()?.slice() ?? null,
      timestamp: reader.timestamp,
      offset: reader.offset,
      headers: headers.map(({ key, value }) => ({ key, value: value?.slice() ?? null })),
    })
  }
  return records
}

describe('RecordBatchWriter', () => {
  it('writes the bytes of the Kafka protocol guide', () => {
    const writer = new RecordBatchWriter()
    writer.reset(5)
    writer.append(bytes('k'), bytes('v1'), 1000)
    writer.append(null, null, 1001, 2, [{ key: 'h', value: bytes('x') }])
    const hex = Buffer.from(
      writer.finish({ transactional: true, producerId: 7, producerEpoch: 1, baseSequence: 3 }),
    ).toString('hex')
    expect(hex.slice(0, 34)).toBe(
      '0000000000000005' + // base offset
        '00000046' + // batch length: 61 + 10 + 11 - 12
        'ffffffff' + // leader epoch
        '02', // magic
    )
    expect(hex.slice(42)).toBe(
      '0010' + // attributes: transactional
        '00000002' + // last offset delta
        '00000000000003e8' + // base timestamp
        '00000000000003e9' + // max timestamp
        '0000000000000007' + // producer id
        '0001' + // producer epoch
        '00000003' + // base sequence
        '00000002' + // records
        // length 9, attributes, timestamp +0, offset +0, key length 1, key, value length 2, value, 0
        '12000000026b' +
        '047631' +
        '00' +
        // length 10: timestamp +1, offset +2, key null, value null, one header h = x
        '14000204' +
        '01' +
        '01' +
        '02' +
        '0268' +
        '0278',
    )
  })

  it('refuses offset deltas that do not grow', () => {
    const writer = new RecordBatchWriter()
    writer.append(null, null, 1, 4)
    expect(() => writer.append(null, null, 1, 4)).toThrow(/offset delta 4/)
  })

  it('gives its buffer away and continues with another one', () => {
    const writer = new RecordBatchWriter(100)
    writer.append(null, bytes('first'), 1)
    const first = writer.take()
    writer.append(null, bytes('other'), 1)
    const second = writer.take()
    expect(first.buffer).not.toBe(second.buffer)
    structuredClone(first.buffer, { transfer: [first.buffer] })
    const reader = new RecordBatchReader()
    reader.open(second)
    expect(decode(reader)[0]?.value).toEqual(bytes('other'))
  })
})

describe('RecordBatchReader', () => {
  it.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const)(
    'reads back what was written (%s)',
    (codec) => {
      const random = seededRandom(42)
      const writer = new RecordBatchWriter()
      const reader = new RecordBatchReader()
      for (let round = 0; round < 60; round++) {
        const base = random.below(2) === 0 ? random.below(1000) : 2 ** 40 + random.below(1000)
        const records = randomRecords(random, base)
        encode(writer, base, records)
        const batch = writer.finish({ codec })
        expect(reader.open(batch)).toBe(batch.length)
        expect(reader.count).toBe(records.length)
        expect(decode(reader)).toEqual(records)
      }
    },
  )

  it('reads a batch from the middle of a buffer', () => {
    const writer = new RecordBatchWriter()
    writer.append(bytes('a'), bytes('b'), 3)
    const batch = writer.finish()
    const buffer = new Uint8Array(batch.length + 20)
    buffer.set(batch, 10)
    const reader = new RecordBatchReader()
    expect(reader.open(buffer, 10)).toBe(10 + batch.length)
    expect(decode(reader)[0]?.key).toEqual(bytes('a'))
  })

  it('detects every flipped bit that the checksum covers', () => {
    const writer = new RecordBatchWriter()
    writer.append(bytes('key'), bytes('value'), 3)
    const batch = writer.finish().slice()
    for (let at = 17; at < batch.length; at++) {
      batch[at]! ^= 1
      expect(() => new RecordBatchReader().open(batch)).toThrow(/checksum/)
      batch[at]! ^= 1
    }
  })

  it('names the codec or magic that it cannot read', () => {
    const writer = new RecordBatchWriter()
    writer.append(null, bytes('v'), 3)
    const batch = writer.finish().slice()
    batch[22] = 5
    expect(() => new RecordBatchReader().open(batch, 0, false)).toThrow(/compression 5/)
    batch[16] = 1
    expect(() => new RecordBatchReader().open(batch, 0, false)).toThrow(/magic 1/)
  })

  it('throws only WeirErrors and keeps slices inside the buffer for mutated batches', () => {
    const random = seededRandom(7)
    const writer = new RecordBatchWriter()
    const ROUNDS = campaignSize(300, 1_500)
    let refused = 0
    for (let round = 0; round < ROUNDS; round++) {
      encode(writer, 5, randomRecords(random, 5).slice(0, 4))
      const batch = writer.finish({ codec: random.below(20) === 0 ? 'gzip' : 'none' }).slice()
      const first = random.below(3) === 0 ? 0 : 57
      for (let i = 0; i <= random.below(4); i++) {
        batch[first + random.below(batch.length - first)] = random.below(256)
      }
      if (!readsSafely(batch.subarray(0, batch.length - random.below(3)))) refused += 1
    }
    expect(refused).toBeGreaterThan(ROUNDS / 8)
  })

  it('throws only WeirErrors for random bytes', () => {
    const random = seededRandom(8)
    for (let round = 0; round < campaignSize(600, 3_000); round++) {
      const noise = Uint8Array.from({ length: random.below(200) }, () => random.below(256))
      if (noise.length > 20) {
        noise.fill(0, 8, 11)
        noise[16] = 2
      }
      readsSafely(noise)
    }
  })
})

/** Reads all records; false when the reader rejects them. Fails the test on any other outcome. */
function readsSafely(batch: Uint8Array): boolean {
  const reader = new RecordBatchReader()
  try {
    reader.open(batch, 0, false)
    while (reader.next()) {
      const end = Math.max(
        reader.keyStart + reader.keyLength,
        reader.valueStart + reader.valueLength,
      )
      if (reader.keyStart < 0 || end > reader.bytes.length) expect.fail('a slice leaves the buffer')
      reader.headers()
      reader.header(bytes('h'))
    }
    return true
  } catch (error) {
    if (!isWeirError(error)) throw error
    return false
  }
}

describe('control batches', () => {
  it('contain the end of a transaction', () => {
    const reader = new RecordBatchReader()
    for (const type of ['commit', 'abort'] as const) {
      reader.open(encodeControlBatch(type, { producerId: 9, epoch: 2 }, 1000))
      expect([reader.isControl, reader.isTransactional, reader.producerId]).toEqual([true, true, 9])
      expect(reader.next()).toBe(true)
      expect(readControlType(reader)).toBe(type)
    }
  })
})

describe('records around the longest length of one byte', () => {
  it.each([-1, 0, 6, 20])('come back with keys of %i bytes', (keyLength) => {
    const key = keyLength < 0 ? null : new Uint8Array(keyLength).fill(7)
    const writer = new RecordBatchWriter(64)
    const far = 2 ** 30 - 1
    for (let length = 0; length < 70; length++) {
      const value = length === 0 ? null : new Uint8Array(length).fill(length)
      writer.append(key, value, length === 0 ? 0 : far, length * 20_000_000)
    }
    const reader = new RecordBatchReader()
    reader.open(writer.finish())
    for (let length = 0; length < 70; length++) {
      expect(reader.next()).toBe(true)
      expect([reader.keyLength, reader.offset]).toEqual([keyLength, length * 20_000_000])
      expect(reader.valueLength).toBe(length === 0 ? -1 : length)
      expect(reader.value()?.every((byte) => byte === length) ?? true).toBe(true)
    }
    expect(reader.next()).toBe(false)
  })
})
