import { Packr, unpack } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { decodeGeneral, encodeGeneral, type GeneralValue } from '../../src/wire/general-envelope.ts'

/** An independent encoder and decoder of MessagePack. */
const other = new Packr({ useRecords: false, variableMapSize: true })

const NUMBERS = [
  ...[0, 1, 127, 128, 255, 256, 65535, 65536, 4294967295, 4294967296, 2 ** 53 - 1],
  ...[-1, -32, -33, -128, -129, -32768, -32769, -2147483648, -2147483649, -(2 ** 53) + 1],
  ...[0.5, -0.1, 1e300, Number.MIN_VALUE, Infinity, -Infinity],
]

const roundTrip = (value: GeneralValue): unknown => {
  const bytes = encodeGeneral({ value })
  expect(unpack(bytes)).toEqual({ value })
  return decodeGeneral(bytes, 0, bytes.length)['value']
}

describe('a general envelope', () => {
  test.each(NUMBERS)('holds the number %d', (value) => {
    expect(roundTrip(value)).toBe(value)
  })

  test('keeps minus zero and NaN', () => {
    expect(roundTrip(-0)).toBe(-0)
    expect(roundTrip(Number.NaN)).toBeNaN()
  })

  test.each([0, 15, 16, 31, 32, 255, 256])('holds texts, lists and maps of %d', (length) => {
    const list = Array.from({ length }, (_, i) => i)
    const map = Object.fromEntries(list.map((i) => [`k${i}`, i]))
    expect(roundTrip(['é'.repeat(length), list, map])).toEqual(['é'.repeat(length), list, map])
  })

  test.each([65535, 65536])('holds texts and lists of %d', (length) => {
    expect(roundTrip(['x'.repeat(length), Array(length).fill(null)])).toHaveLength(2)
  })

  test('is encoded as by the library where the library is as short', () => {
    for (const value of [null, true, false, 'text', 7, -7, 300, 0.25, [1, [2]], { a: { b: [] } }]) {
      expect(Buffer.from(encodeGeneral({ value }))).toEqual(other.pack({ value }))
    }
  })

  test('of any nested value is read back by both decoders', () => {
    const random = seededRandom(11)
    for (let i = 0; i < 100; i++) {
      const value = randomValue(random, 4)
      expect(roundTrip(value)).toEqual(value)
    }
  })
})

function randomValue(random: Random, depth: number): GeneralValue {
  const pick = Math.floor(random.next() * (depth > 0 ? 7 : 5))
  const count = Math.floor(random.next() * 20)
  if (pick === 0) return null
  if (pick === 1) return random.next() < 0.5
  if (pick === 2) return Math.floor((random.next() - 0.5) * 2 ** (60 * random.next()))
  if (pick === 3) return random.next() * 1e6
  if (pick === 4) return 'x'.repeat(count)
  const values = Array.from({ length: count }, () => randomValue(random, depth - 1))
  return pick === 5 ? values : Object.fromEntries(values.map((value, i) => [`${i}k`, value]))
}
