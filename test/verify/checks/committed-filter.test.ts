import { describe, expect, it } from 'vitest'
import { CommittedFilter, type RawRecord } from '../../../verify/checks/committed-filter.ts'

const record = (producerId: string): RawRecord => ({
  isControlRecord: false,
  key: null,
  batchContext: { producerId, inTransaction: producerId !== '-1' },
})
const marker = (producerId: string, type: number): RawRecord => ({
  isControlRecord: true,
  key: Uint8Array.of(0, 0, 0, type),
  batchContext: { producerId, inTransaction: true },
})
const ABORT = 0
const COMMIT = 1

describe('CommittedFilter', () => {
  it('returns committed records at their marker, and no aborted ones', () => {
    const filter = new CommittedFilter<string>()
    const taken: string[] = []
    const take = (partition: number, raw: RawRecord, name: string): void => {
      taken.push(...filter.take(partition, raw, name))
    }
    take(0, record('7'), 'a')
    take(0, record('8'), 'b')
    take(0, record('7'), 'c')
    take(0, record('-1'), 'd')
    // Aborted in the order of neither their begins nor their ids.
    take(0, marker('8', ABORT), '')
    take(0, record('8'), 'e')
    take(0, marker('7', COMMIT), '')
    take(0, marker('8', COMMIT), '')
    expect(taken).toEqual(['d', 'a', 'c', 'e'])
    expect(filter.open).toBe(0)
  })

  it('keeps partitions apart and counts open transactions', () => {
    const filter = new CommittedFilter<string>()
    filter.take(0, record('7'), 'a')
    filter.take(1, record('7'), 'b')
    expect(filter.take(1, marker('7', COMMIT), '')).toEqual(['b'])
    expect(filter.open).toBe(1)
  })
})
