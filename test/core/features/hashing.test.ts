import { describe, expect, it } from 'vitest'
import {
  crossesOf,
  hashingOf,
  hashingParameters,
  hashingText,
  isSameHashing,
} from '../../../src/core/features/hashing.ts'

describe('crosses', () => {
  it('are names of namespaces', () => {
    expect(crossesOf('')).toEqual([])
    expect(crossesOf('user*ad,user*place*ad,a*a')).toEqual([
      ['user', 'ad'],
      ['user', 'place', 'ad'],
      ['a', 'a'],
    ])
  })

  it.each([
    ['user', 'is no cross'],
    ['user*', 'is no cross'],
    ['a*b*c*d*e', 'is no cross'],
    ['us er*ad', 'is no cross'],
    ['a|b*c', 'is no cross'],
    ['a*b,', 'is no cross'],
    ['a*b,b*a', 'b*a comes twice'],
  ])('are not %j', (text, problem) => {
    expect(() => crossesOf(text)).toThrow(problem)
  })
})

describe('the hash of a version', () => {
  it.each([undefined, { bits: 18, crosses: '' }, { bits: 5, crosses: 'a*b' }])(
    'is read as it was written: %j',
    (hashing) => {
      expect(hashingOf(hashingParameters(hashing))).toEqual(hashing)
    },
  )

  it('is another one with other bits, other crosses, or none', () => {
    const hashing = { bits: 18, crosses: 'a*b' }
    expect(isSameHashing(hashing, { ...hashing })).toBe(true)
    for (const other of [undefined, { ...hashing, bits: 19 }, { ...hashing, crosses: '' }]) {
      expect(isSameHashing(hashing, other)).toBe(false)
    }
  })

  it('is told as the flags that choose it', () => {
    expect(hashingText({ bits: 18, crosses: 'a*b' })).toBe('--hash-bits 18 --crosses a*b')
    expect(hashingText({ bits: 18, crosses: '' })).toBe('--hash-bits 18')
    expect(hashingText(undefined)).toBe('no --hash-bits')
  })
})
