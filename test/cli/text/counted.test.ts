import { describe, expect, it } from 'vitest'
import { counted } from '../../../src/cli/text/counted.ts'

describe('counted', () => {
  it('uses the singular for one only', () => {
    expect([0, 1, 2].map((count) => counted(count, 'record'))).toEqual([
      '0 records',
      '1 record',
      '2 records',
    ])
    expect(counted(2, 'copy', 'copies')).toBe('2 copies')
  })
})
