import { expect, it } from 'vitest'
import { ageText } from '../../../src/core/text/age.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]

it.each([
  [0, '0 s old'],
  [119_400, '119 s old'],
  [2 * MINUTE, '2 min old'],
  [36 * HOUR, '36 h old'],
  [2 * DAY, '2 days old'],
  [60 * DAY, '60 days old'],
  [61 * DAY, '2 months old'],
  [217_955_459_000, '7 years old'],
  [-3 * HOUR, '3 h in the future'],
])('%d ms are %s', (ms, text) => expect(ageText(ms)).toBe(text))
