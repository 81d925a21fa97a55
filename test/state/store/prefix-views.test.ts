import { describe, expect, it } from 'vitest'
import { PrefixViews } from '../../../src/state/store/prefix-views.ts'

describe('PrefixViews', () => {
  it('gives the same view of the same bytes again, which shows what they are now', () => {
    const views = new PrefixViews()
    const bytes = new Uint8Array([1, 2, 3])
    const view = views.of(bytes, 2)
    bytes[0] = 9
    expect(views.of(bytes, 2)).toBe(view)
    expect([...view]).toEqual([9, 2])
    expect([...views.of(bytes, 3)]).toEqual([9, 2, 3])
  })

  it('gives no view of bytes that were there before', () => {
    const views = new PrefixViews()
    expect([...views.of(new Uint8Array([1, 2]), 2)]).toEqual([1, 2])
    expect([...views.of(new Uint8Array([3, 4]), 2)]).toEqual([3, 4])
  })

  it('gives views of any length', () => {
    const bytes = new Uint8Array(2000).fill(7)
    const views = new PrefixViews()
    for (const length of [0, 511, 512, 2000]) {
      expect([...views.of(bytes, length)]).toEqual(new Array(length).fill(7))
    }
  })
})
