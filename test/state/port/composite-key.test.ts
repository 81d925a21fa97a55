import { describe, expect, it } from 'vitest'
import { isWeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { latin1Of } from '../../../src/core/text/latin1.ts'
import {
  decodeComposite,
  encodePrefix,
  prefixLength,
  prefixLengthOf,
} from '../../../src/state/port/composite-key.ts'

describe('a composite key', () => {
  it('is written as its drawing says', () => {
    const bytes = encodePrefix(Uint8Array.of(1, 0, 2), Uint8Array.of(0xff))
    expect([...bytes]).toEqual([1, 0, 0xff, 2, 0, 1, 0xff, 0, 1])
  })

  it('gives back its parts, map key included', () => {
    const prefix = encodePrefix(Uint8Array.of(0, 0), Uint8Array.of(0, 1))
    const parts = decodeComposite(Uint8Array.from([...prefix, 0, 1, 9]))
    expect([[...parts.key], [...parts.namespace], [...parts.mapKey]]).toEqual([
      [0, 0],
      [0, 1],
      [0, 1, 9],
    ])
    expect(prefixLength(prefix)).toBe(prefix.length)
    expect(prefixLengthOf(`${latin1Of(prefix)}\0\x01\x09`)).toBe(prefix.length)
    for (let end = 0; end < prefix.length; end++) {
      expect(() => prefixLengthOf(latin1Of(prefix, end))).toThrow('no end of its key or namespace')
    }
  })

  it('orders as key and namespace order', () => {
    const random = seededRandom(3)
    const part = (): Uint8Array =>
      Uint8Array.from({ length: random.below(4) }, () => [0, 1, 0xff][random.below(3)]!)
    for (let n = 0; n < 2000; n++) {
      const [a, b] = [
        { key: part(), namespace: part() },
        { key: part(), namespace: part() },
      ]
      const byParts = Buffer.compare(a.key, b.key) || Buffer.compare(a.namespace, b.namespace)
      const byBytes = Buffer.compare(
        encodePrefix(a.key, a.namespace),
        encodePrefix(b.key, b.namespace),
      )
      expect(byBytes).toBe(byParts)
    }
  })

  it('without terminators is refused', () => {
    let code = ''
    try {
      decodeComposite(Uint8Array.of(1, 2, 0, 1, 3))
    } catch (error) {
      code = isWeirError(error) ? error.code : ''
    }
    expect(code).toBe('MALFORMED_DATA')
  })
})
