import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { scoreNumber, scoreText } from '../../../src/gateway/routes/score-number.ts'

describe('the number of a score', () => {
  it('gives back the same float32, in at most nine significant digits', () => {
    const random = seededRandom(7)
    const bits = new Uint32Array(1)
    const float = new Float32Array(bits.buffer)
    for (let i = 0; i < 20_000; i++) {
      bits[0] = random.below(0x1_0000_0000)
      const any = float[0]!
      if (!Object.is(Math.fround(scoreNumber(any)), any)) expect.fail(`${any}`)
      const usual = Math.fround((1e-4 + random.next()) * 10 ** random.below(8))
      const number = scoreNumber(usual)
      if (Math.fround(number) !== usual || Number(number.toPrecision(9)) !== number) {
        expect.fail(`${usual} became ${number}`)
      }
    }
  })

  it.each([
    [0, '0'],
    [-0, '0'],
    [10, '10'],
    [Math.fround(4.53729248046875), '4.53729248'],
    [Math.fround(-0.1), '-0.100000001'],
    [Math.fround(12_345.678), '12345.6777'],
    [Math.fround(1e-30), '1.0000000031710769e-30'],
    [Number.NaN, 'null'],
    [Number.POSITIVE_INFINITY, 'null'],
  ])('%d is written as %s', (score, text) => {
    expect(scoreText(score)).toBe(text)
  })
})
