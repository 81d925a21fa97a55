import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../src/core/byte-reader.ts'
import { ByteWriter } from '../../src/core/byte-writer.ts'

describe('ByteWriter and ByteReader', () => {
  it('read back what was written', () => {
    const writer = new ByteWriter(1)
    writer.uint8(255)
    writer.uint16(65535)
    writer.uint32(4294967295)
    writer.int32(-5)
    writer.int53(-9007199254740991)
    writer.int53(9007199254740991)
    writer.float32(1.5)
    writer.float64(-0.1)
    writer.varuint(300)
    writer.varuint(4294967295)
    writer.text('grüße')
    writer.sized(Uint8Array.of(1, 2))
    const reader = new ByteReader(writer.toBytes())
    expect([reader.uint8(), reader.uint16(), reader.uint32(), reader.int32()]).toEqual([
      255, 65535, 4294967295, -5,
    ])
    expect([reader.int53(), reader.int53()]).toEqual([-9007199254740991, 9007199254740991])
    expect([reader.float32(), reader.float64()]).toEqual([1.5, -0.1])
    expect([reader.varuint(), reader.varuint()]).toEqual([300, 4294967295])
    expect(reader.text()).toBe('grüße')
    expect([...reader.sized()]).toEqual([1, 2])
    expect(reader.remaining).toBe(0)
  })

  it('has golden bytes', () => {
    const writer = new ByteWriter()
    writer.uint32(1)
    writer.int53(-1)
    writer.varuint(300)
    writer.text('ab')
    expect(Buffer.from(writer.toBytes()).toString('hex')).toBe('01000000ffffffffffffffffac02026162')
  })

  it('refuses to read past the end', () => {
    expect(() => new ByteReader(Uint8Array.of(1)).uint16()).toThrow('2 bytes expected')
    expect(() => new ByteReader(Uint8Array.of(9, 1)).sized()).toThrow('9 bytes expected')
  })

  it('refuses numbers of more than 53 bits and endless varuints', () => {
    const big = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0x7f)
    expect(() => new ByteReader(big).int53()).toThrow('53 bits')
    expect(() => new ByteReader(new Uint8Array(6).fill(0xff)).varuint()).toThrow('32 bits')
  })
})
