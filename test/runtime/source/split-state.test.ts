import { describe, expect, it } from 'vitest'
import { decodeSplit, encodeSplit } from '../../../src/runtime/source/split-state.ts'

describe('the position of a split in a checkpoint', () => {
  const place = { partition: 7, nextOffset: 300 }

  it.each([
    [place, '01070000002c01000000000000'],
    [{ ...place, origin: 'ab' }, '02070000002c01000000000000026162'],
    [{ ...place, origin: 'ab', leaderEpoch: 9 }, '03070000002c0100000000000002616209000000'],
  ])('%j has these bytes, which earlier and later builds read', (split, hex) => {
    expect(Buffer.from(encodeSplit(split)).toString('hex')).toBe(hex)
    expect(decodeSplit(Buffer.from(hex, 'hex'))).toEqual(split)
  })

  it('of a later format is refused', () => {
    expect(() => decodeSplit(Buffer.from('0407', 'hex'))).toThrow(/split format 4.*reads 1 to 3/)
  })
})
