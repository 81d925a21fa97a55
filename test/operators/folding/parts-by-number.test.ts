import { expect, it } from 'vitest'
import { PartsByNumber } from '../../../src/operators/folding/parts-by-number.ts'

class Part {
  readonly key: number
  next: Part | undefined = undefined

  constructor(key: number) {
    this.key = key
  }
}

it('finds the last part of each number, also after its table has grown', () => {
  const parts = new PartsByNumber<Part>()
  const keys = Array.from({ length: 1000 }, (_, i) => (i % 3 === 0 ? -i : i * 1_000_003 - 2 ** 40))
  for (const key of keys) parts.put(new Part(key))
  const first = keys.map((key) => parts.find(key))
  expect(first.map((part) => part?.key)).toEqual(keys)
  const again = keys.slice(0, 100).map((key) => new Part(key))
  for (const part of again) parts.put(part)
  for (const key of keys.slice(100)) parts.put(new Part(key))
  expect(keys.slice(0, 100).map((key) => parts.find(key))).toEqual(again)
  expect(parts.find(2 ** 40)).toBeUndefined()
})

it('has no part after it was cleared, and takes new ones', () => {
  const parts = new PartsByNumber<Part>()
  for (let key = 0; key < 100; key++) parts.put(new Part(key))
  parts.clear()
  expect(parts.find(7)).toBeUndefined()
  const part = new Part(7)
  parts.put(part)
  expect(parts.find(7)).toBe(part)
})
