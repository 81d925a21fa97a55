import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import {
  type ComparedErrors,
  isWorseOnNewest,
  type MeasuredErrors,
} from '../../../src/kinds/port/measured-errors.ts'

const SIZE = 600

/** Errors around 1, `more` of the example's time in 0 to 1. */
function errors(number: number, more: (time: number) => number): MeasuredErrors {
  const random = seededRandom(number)
  const all = Float32Array.from(
    { length: SIZE },
    (_, n) => 1 + 0.1 * random.normal() + more(n / SIZE),
  )
  return { number, summary: undefined, errors: all }
}

/** The examples from the newest to the oldest by place, as a golden set may have them. */
const compared: ComparedErrors = {
  places: Array.from({ length: SIZE }, (_, n) => SIZE - 1 - n),
  times: Array.from({ length: SIZE }, (_, n) => SIZE - 1 - n),
}

describe('a candidate is worse where the golden set is new', () => {
  const live = errors(1, () => 0)

  it('if its errors are certainly above those of live there, and less so where it is old', () => {
    expect(
      isWorseOnNewest(
        errors(2, (time) => time - 0.7),
        live,
        compared,
      ),
    ).toBe(true)
  })

  it('not if they are above everywhere alike, or by chance, or where the set is old', () => {
    expect(
      isWorseOnNewest(
        errors(2, (time) => 0.3 - 0.1 * time),
        live,
        compared,
      ),
    ).toBe(false)
    expect(
      isWorseOnNewest(
        errors(3, () => 0),
        live,
        compared,
      ),
    ).toBe(false)
    expect(
      isWorseOnNewest(
        errors(4, (time) => 0.5 - time),
        live,
        compared,
      ),
    ).toBe(false)
  })

  it('not where the examples have no times', () => {
    const { places } = compared
    expect(
      isWorseOnNewest(
        errors(2, (time) => time),
        live,
        { places },
      ),
    ).toBe(false)
  })
})
