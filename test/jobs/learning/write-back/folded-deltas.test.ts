import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  decodeFolded,
  encodeFolded,
} from '../../../../src/jobs/learning/write-back/folded-deltas.ts'

const seen = [
  { deltaPartition: 0, version: 3, partition: 2, sourceKeyGroup: 127, offset: 2 ** 40 },
  { deltaPartition: 5, version: 3, partition: 0, sourceKeyGroup: 0, offset: 0 },
]

describe('folded deltas in a marker', () => {
  it('are read as they were written, for any version', () => {
    expect(decodeFolded(encodeFolded(seen), 3)).toEqual(seen)
    expect(decodeFolded(encodeFolded(seen), 4).map(({ version }) => version)).toEqual([4, 4])
    expect(decodeFolded(encodeFolded([]), 3)).toEqual([])
  })

  it('have these bytes', () => {
    expect(decodeFolded('AQMA', 1)).toEqual([])
    expect(decodeFolded('AWNlYGdiZAADAA==', 1)).toEqual([
      { deltaPartition: 5, version: 1, partition: 0, sourceKeyGroup: 7, offset: 258 },
    ])
  })

  it('are refused when they are damaged or of another format', () => {
    const failure = (code: string) => expect.objectContaining({ code })
    expect(() => decodeFolded('AgMA', 1)).toThrow(failure('UNSUPPORTED_VERSION'))
    const whole = encodeFolded(seen)
    const cutInside = Buffer.concat([Uint8Array.of(1), deflateRawSync(Uint8Array.of(5, 0))])
    for (const text of ['', 'AXh4eHh4', whole.slice(0, 8), cutInside.toString('base64')]) {
      expect(() => decodeFolded(text, 7)).toThrow(failure('MALFORMED_DATA'))
      expect(() => decodeFolded(text, 7)).toThrow(/version 7 is damaged.*weir model rollback/)
    }
  })
})
