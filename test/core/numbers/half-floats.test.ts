import { describe, expect, it } from 'vitest'
import {
  brainOfNumber,
  halfOfNumber,
  numberOfBrain,
  numberOfHalf,
} from '../../../src/core/numbers/half-floats.ts'

describe('floats of 16 bits', () => {
  it('are read and written with all bits', () => {
    const changed: number[] = []
    for (let bits = 0; bits < 0x10000; bits++) {
      const number = numberOfHalf(bits)
      if (!Number.isNaN(number) && halfOfNumber(number) !== bits) changed.push(bits)
      const brain = numberOfBrain(bits)
      if (!Number.isNaN(brain) && brainOfNumber(brain) !== bits) changed.push(bits)
    }
    expect(changed).toEqual([])
  })

  it('have the values of IEEE 754', () => {
    const known: [number, number][] = [
      [0x3c00, 1],
      [0xc000, -2],
      [0x7bff, 65504],
      [0x0001, 2 ** -24],
      [0x7c00, Number.POSITIVE_INFINITY],
      [0x3555, 0.333251953125],
    ]
    for (const [bits, number] of known) expect(numberOfHalf(bits)).toBe(number)
    expect(numberOfHalf(0x7e00)).toBeNaN()
    expect(numberOfBrain(0x3f80)).toBe(1)
    expect(numberOfBrain(0xff80)).toBe(Number.NEGATIVE_INFINITY)
  })

  it('are the nearest ones of a number, ties to even', () => {
    expect(halfOfNumber(1 + 2 ** -11)).toBe(0x3c00)
    expect(halfOfNumber(1 + 3 * 2 ** -11)).toBe(0x3c02)
    expect(halfOfNumber(65519)).toBe(0x7bff)
    expect(halfOfNumber(65520)).toBe(0x7c00)
    expect(halfOfNumber(2 ** -25)).toBe(0)
    expect(halfOfNumber(-1e-9)).toBe(0x8000)
    expect(halfOfNumber(Number.NaN)).toBe(0x7e00)
    expect(brainOfNumber(1 + 2 ** -8)).toBe(0x3f80)
    expect(brainOfNumber(1 + 3 * 2 ** -8)).toBe(0x3f82)
  })
})
