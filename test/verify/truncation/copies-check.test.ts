import { describe, expect, it } from 'vitest'
import { checkCopies } from '../../../verify/truncation/copies-check.ts'

const RECORDS = { kept: ['a', 'b'], mayBeLost: ['x'] }

describe('a comparison of copies with their records', () => {
  it('finds nothing where each kept record is there once, with and without those that a broker may lose', () => {
    const right = { lost: 0, duplicated: 0, unknown: 0 }
    expect(checkCopies(['a', 'b'], RECORDS, 'exactly-once')).toEqual(right)
    expect(checkCopies(['b', 'x', 'a'], RECORDS, 'exactly-once')).toEqual(right)
  })

  it('counts a kept record that is not there as lost', () => {
    expect(checkCopies(['a', 'x'], RECORDS, 'exactly-once')).toMatchObject({ lost: 1 })
    expect(checkCopies(['a', 'x'], RECORDS, 'at-least-once')).toMatchObject({ lost: 1 })
  })

  it('counts a record that is there again, where each may be there once', () => {
    const copies = ['a', 'b', 'a', 'x', 'x']
    expect(checkCopies(copies, RECORDS, 'exactly-once')).toMatchObject({ duplicated: 2 })
    expect(checkCopies(copies, RECORDS, 'at-least-once')).toMatchObject({ duplicated: 0 })
  })

  it('counts a copy of no record', () => {
    expect(checkCopies(['a', 'b', 'c'], RECORDS, 'at-least-once')).toMatchObject({ unknown: 1 })
  })
})
