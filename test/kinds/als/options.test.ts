import { expect, it } from 'vitest'
import { coldStart } from '../../../src/kinds/als/options.ts'

/** Rows of four factors. */
const biased = { number: 3, dimension: 6, biased: true }
const plain = { number: 3, dimension: 4, biased: false }

it.each([
  ['as many factors', { factors: 4 }, biased],
  ['more factors', { factors: 6 }, biased],
  ['the factors of the training, where none are said', {}, biased],
  ['no biases on both sides', { factors: 4, biases: false }, plain],
  ['implicit feedback, which has none', { factors: 4, feedback: 'implicit' }, plain],
] as const)('a training starts from live rows with %s', (_, options, live) => {
  expect(coldStart(options, live)).toBeUndefined()
})

it.each([
  [
    'fewer factors',
    { factors: 3 },
    biased,
    'version 3 has 4 factors, and this training makes rows with 3',
  ],
  [
    'biases that the rows lack',
    { factors: 4 },
    plain,
    'version 3 has no biases, and this training makes rows with them',
  ],
  [
    'no biases where the rows have some',
    { factors: 4, biases: false },
    biased,
    'version 3 has biases, and this training makes rows without them',
  ],
] as const)('a training does not start from live rows with %s', (_, options, live, why) => {
  expect(coldStart(options, live)).toBe(why)
})
