import { describe, expect, it } from 'vitest'
import { WindowNamespaces, windowOfNamespace } from '../../../src/operators/windows/namespace.ts'

describe('namespaces of windows', () => {
  it('keep the documented layout, and read back at both ends of time', () => {
    const namespaces = new WindowNamespaces()
    expect([...namespaces.of(-1, 258)]).toEqual([...Array(8).fill(255), 2, 1, 0, 0, 0, 0, 0, 0])
    for (const [start, end] of [
      [0, 1],
      [-5_000_000_000, -1],
      [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ] as const) {
      expect(windowOfNamespace(namespaces.of(start, end))).toEqual({ start, end })
      expect(namespaces.shortLived(start, end)).toEqual(namespaces.of(start, end))
    }
    expect(() => windowOfNamespace(new Uint8Array(3))).toThrow(/has 16 bytes, not 3/)
  })
})
