import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../../src/core/random.ts'
import { readFloats } from '../../../../src/gateway/inference/numbers/json-floats.ts'

/** The floats of a list, or undefined where the reader leaves it to others. */
function read(list: string, count: number): Float32Array | undefined {
  const target = new Float32Array(count)
  const end = readFloats(Buffer.from(`${list}}`), 1, target)
  if (end < 0) return undefined
  expect(end).toBe(list.length - 1)
  return target
}

/** What `JSON.parse` makes of the list. */
const parsed = (list: string): Float32Array =>
  Float32Array.from((JSON.parse(list) as unknown[]).flat(Number.POSITIVE_INFINITY) as number[])

/** A number of few digits, as most programs round them. */
const plainText = (random: Random): string =>
  ((random.next() - 0.5) * 10 ** (random.below(7) - 3)).toFixed(random.below(6))

/** A number as programs write them: all digits of a double or of a float, or an exponent. */
function otherText(random: Random): string {
  const value = (random.next() - 0.5) * 10 ** (random.below(80) - 45)
  const forms = [
    () => String(value),
    () => String(Math.fround(value)),
    () => value.toExponential(random.below(21)),
    () => (random.next() * 10).toFixed(random.below(25)),
    () => String(random.below(2 ** 30) - 2 ** 29),
    () =>
      `${random.below(10)}.${'0'.repeat(random.below(25))}${random.below(1000)}E+${random.below(9)}`,
  ]
  return forms[random.below(forms.length)]!()
}

describe('the reader of floats in JSON', () => {
  it('gives each number the bits that JSON.parse gives it', () => {
    const random = seededRandom(20_261_126)
    for (let round = 0; round < 400; round++) {
      const texts = Array.from({ length: 50 }, (_, i) =>
        i % 4 === 0 ? otherText(random) : plainText(random),
      )
      const list = `[${texts.join(random.below(2) === 0 ? ',' : ' ,\n')}]`
      const floats = read(list, 50)!
      expect(new Uint32Array(floats.buffer)).toEqual(new Uint32Array(parsed(list).buffer))
    }
  })

  it.each([
    // Half of the way between two floats, and a little above and below it.
    '[1.00000005960464477539,1.0000000596046448,1.000000059604644]',
    '[16777217,16777217.000000001,16777216.9999999]',
    '[0,-0,0.0,-0.0e5,1e-50,1E+38,3.4028235e38]',
    '[123456789012345678901234567890,0.000000000000000000000000000001]',
    '[ [1, 2],\t[[3]] , 4\n]',
  ])('reads %s as JSON.parse does', (list) => {
    const wanted = parsed(list)
    expect(read(list, wanted.length)).toEqual(wanted)
  })

  it.each(['[3.5e38]', '[1e39]', '[-1e400]'])(
    'leaves %s, which no float is near to, to be refused',
    (list) => {
      expect(read(list, 1)).toBeUndefined()
    },
  )

  it('leaves lists of numbers with many digits to JSON.parse, which takes less time for them', () => {
    const long = (count: number) => `[${Array.from({ length: count }, () => '0.1234567890123')}]`
    expect(read(long(16), 16)).toEqual(parsed(long(16)))
    expect(read(long(17), 17)).toBeUndefined()
  })

  it('reads a number of many digits', () => {
    const list = `[0.${'3'.repeat(300_000)}]`
    expect(read(list, 1)).toEqual(Float32Array.of(1 / 3))
  })

  it('leaves a number that overflows 32 bits to JSON.parse, after which it is refused', () => {
    for (const list of ['[3.5e38]', '[1e400]', '[-1e39]']) expect(read(list, 1)).toBeUndefined()
  })

  it.each([
    '[01]',
    '[1.]',
    '[.5]',
    '[+1]',
    '[-]',
    '[1e]',
    '[1e+]',
    '[0x1]',
    '[1 2]',
    '[1,]',
    '[,1]',
    '[]',
    '[[1]',
    '["1"]',
    '[null]',
    '[NaN]',
    '[1',
    '[1,2]',
  ])('leaves %s to others, which say what is wrong', (list) => {
    expect(read(list, 1)).toBeUndefined()
  })
})
