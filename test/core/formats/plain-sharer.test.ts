import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { PlainCopier } from '../../../src/core/formats/plain-copier.ts'
import { PlainSharer } from '../../../src/core/formats/plain-sharer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { copierOf, sharingSerializer, stringSerializer } from '../../../src/core/serializer.ts'
import { randomPlainValue } from '../plain-values.ts'

class Money {
  euros = 1
}

describe('PlainSharer', () => {
  it('gives back plain data itself, and counts the bytes of a copy', () => {
    const random = seededRandom(5)
    const [copier, sharer] = [new PlainCopier(), new PlainSharer()]
    for (let i = 0; i < 500; i++) {
      const value = { field: randomPlainValue(random), none: undefined }
      expect(sharer.copy(value)).toBe(value)
      copier.copy(value)
      expect(sharer.bytes).toBe(copier.bytes)
    }
  })

  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  it.each([
    ['an instance of a class', new Money()],
    ['a class in a field', { price: new Money() }],
    ['a typed array in a Map', new Map([['k', new Float32Array(2)]])],
    ['a bigint in a Set', new Set([5n])],
    ['a function', { run: () => 1 }],
    ['an array with a hole', { list: Array(2) }],
    ['a field named __proto__', JSON.parse('{"__proto__": 1}')],
    ['a Date that is none', { time: new Date(Number.NaN) }],
    ['an object in itself', circle],
    ['text alone', 'text'],
  ])('refuses %s, as the copier does', (_, value) => {
    expect(new PlainSharer().copy(value)).toBeUndefined()
    expect(new PlainCopier().copy(value)).toBeUndefined()
  })
})

describe('sharingSerializer', () => {
  it('reads and writes as before, and shares what it is given', () => {
    const serializer = msgpackSerializer<object>()
    const sharing = sharingSerializer(serializer)
    const value = { a: 1 }
    expect(copierOf(sharing)!.copy(value)).toBe(value)
    expect(copierOf(serializer)!.copy(value)).not.toBe(value)
    expect(sharing).toMatchObject({ id: 'msgpack/1', write: serializer.write })
  })

  it('is the same one where no objects can be shared', () => {
    expect(sharingSerializer(stringSerializer)).toBe(stringSerializer)
  })
})
