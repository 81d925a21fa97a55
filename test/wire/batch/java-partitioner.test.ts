import { describe, expect, it } from 'vitest'
import { murmur2, partitionOf } from '../../../src/wire/batch/java-partitioner.ts'

const encoder = new TextEncoder()
const bytes = (text: string): Uint8Array => encoder.encode(text)

describe('the partitioner of the Java client', () => {
  it('hashes as the Java client does', () => {
    // Vectors of Apache Kafka's own UtilsTest.
    expect(murmur2(bytes('21'))).toBe(-973932308)
    expect(murmur2(bytes('foobar'))).toBe(-790332482)
    expect(murmur2(bytes('a-little-bit-long-string'))).toBe(-985981536)
    expect(murmur2(bytes('a-little-bit-longer-string'))).toBe(-1486304829)
    expect(murmur2(bytes('lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8'))).toBe(-58897971)
    expect(murmur2(bytes('abc'))).toBe(479470107)
    expect(partitionOf(bytes('foobar'), 10)).toBe((-790332482 & 0x7fffffff) % 10)
  })
})
