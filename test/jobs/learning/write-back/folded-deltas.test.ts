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
    expect(() => decodeFolded('AXh4eHh4', 1)).toThrow(failure('MALFORMED_DATA'))
  })
})
