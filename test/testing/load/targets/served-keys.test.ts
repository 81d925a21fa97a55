import { describe, expect, it } from 'vitest'
import { pairsOf } from '../../../../src/testing/load/targets/served-keys.ts'

describe('pairsOf', () => {
  it('names every user and every item among the keys, without the mean rows', () => {
    const keys = ['1-I', '1-U', '2-I', '2-U', '3-U', 'MEAN-I']
    const pairs = pairsOf(keys)
    expect(new Set(pairs.map(({ user }) => user))).toEqual(new Set(['1', '2', '3']))
    expect(new Set(pairs.map(({ item }) => item))).toEqual(new Set(['1', '2']))
  })

  it('refuses keys that are not of users and items, and says what to give instead', () => {
    expect(() => pairsOf(['block-1', 'block-2'])).toThrow(/name --users and --items/)
    expect(() => pairsOf(['1-U'])).toThrow(/not of users and items/)
  })
})
