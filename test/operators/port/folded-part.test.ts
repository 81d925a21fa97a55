import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { copierOf } from '../../../src/core/serializer.ts'
import {
  FoldedPart,
  foldedPartSerializer,
  recordsOf,
} from '../../../src/operators/port/folded-part.ts'

const serializer = foldedPartSerializer(msgpackSerializer(), msgpackSerializer())

function bytesOf(value: unknown): Uint8Array {
  const writer = new ByteWriter()
  serializer.write(value, writer)
  return writer.toBytes()
}

describe('an edge with records and parts of them', () => {
  it('has these bytes', () => {
    expect(Buffer.from(bytesOf({ a: 1 })).toString('hex')).toBe('00de0001a16101')
    expect(Buffer.from(bytesOf(new FoldedPart(7, 300, true))).toString('hex')).toBe('01ac0207')
    const ofSession = new FoldedPart(7, 300, true, 513)
    expect(Buffer.from(bytesOf(ofSession)).toString('hex')).toBe('02ac02010200000000000007')
    expect(serializer.id).toBe('folded-part/1(msgpack/1,msgpack/1)')
  })

  it('reads what it wrote', () => {
    expect(serializer.read(new ByteReader(bytesOf({ a: 1 })))).toEqual({ a: 1 })
    const part = serializer.read(new ByteReader(bytesOf(new FoldedPart({ n: 2 }, 5, false))))
    expect(part).toBeInstanceOf(FoldedPart)
    expect(part).toMatchObject({ sum: { n: 2 }, records: 5, owned: true, spanMs: 0 })
    const ofSession = new FoldedPart({ n: 2 }, 5, false, 2 ** 40)
    expect(serializer.read(new ByteReader(bytesOf(ofSession)))).toMatchObject({
      sum: { n: 2 },
      records: 5,
      spanMs: 2 ** 40,
    })
  })

  it('copies records, hands over parts, and leaves a part with foreign objects to the bytes', () => {
    const copier = copierOf(serializer)!
    const record = { a: 1 }
    expect(copier.copy(record)).toEqual(record)
    expect(copier.copy(record)).not.toBe(record)
    const part = new FoldedPart({ n: 2 }, 5, true)
    expect(copier.copy(part)).toBe(part)
    expect(copier.copy(new FoldedPart({ n: 2 }, 5, false))).toBeUndefined()
  })

  it('counts the records for which a value stands', () => {
    expect(recordsOf(new FoldedPart(1, 5, true))).toBe(5)
    expect(recordsOf({ records: 5 })).toBe(1)
  })
})
