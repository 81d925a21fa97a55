import { expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { PartsByKey } from '../../../src/operators/folding/parts-by-key.ts'

class Part {
  readonly key: unknown
  next: Part | undefined = undefined

  constructor(key: unknown) {
    this.key = key
  }
}

it('has one part of each key: of NaN, fractions, -0, large numbers, texts, nothing', () => {
  const parts = new PartsByKey<Part>(msgpackSerializer())
  const keys = [Number.NaN, 0.25, 0.5, -0, 0, 7, 2 ** 40, -(2 ** 40), '7', '', null, true]
  const put = keys.map((key) => {
    expect(parts.find(key)).toBeUndefined()
    const part = new Part(key)
    parts.put(part)
    return part
  })
  expect(keys.map((key) => parts.find(key))).toEqual(put)
  parts.clear()
  expect(keys.map((key) => parts.find(key))).toEqual(keys.map(() => undefined))
})
