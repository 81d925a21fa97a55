import { describe, expect, it } from 'vitest'
import { describeKey } from '../../../src/core/text/describe-key.ts'

describe('describeKey', () => {
  it('shows bytes as hex for a key that is an object, alone or in a tuple', () => {
    const bytes = Uint8Array.of(1, 2, 255)
    expect(describeKey({ id: 1 }, bytes)).toBe('0x0102ff')
    expect(describeKey(['a', { id: 1 }], bytes)).toBe('0x0102ff')
  })

  it('shortens long keys', () => {
    expect(describeKey('a'.repeat(1000), new Uint8Array(1000))).toBe(`"${'a'.repeat(59)}...`)
    expect(describeKey({}, new Uint8Array(1000))).toBe(`0x${'00'.repeat(29)}...`)
  })
})
