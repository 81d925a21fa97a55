import { expect, it } from 'vitest'
import { isInHalf } from './campaign-half.ts'
import { LONG_FILES } from './special-files.ts'

const FILES = [...LONG_FILES, ...Array.from({ length: 100 }, (_, n) => `test/part/${n}.test.ts`)]

it('each file is whole with half of the seeds, whatever remainder they have', () => {
  for (const remainder of [0, 1, 2, 3]) {
    const seeds = Array.from({ length: 1_000 }, (_, n) => 4 * n + remainder)
    for (const file of FILES) {
      const count = seeds.filter((seed) => isInHalf(file, seed)).length
      expect(count, file).toBeGreaterThan(450)
      expect(count, file).toBeLessThan(550)
    }
  }
})

it('about half of the files are whole, and of the long ones each second one', () => {
  const whole = FILES.filter((file) => isInHalf(file, 7))
  expect(whole.length).toBeGreaterThan(FILES.length / 3)
  expect(whole.length).toBeLessThan((2 * FILES.length) / 3)
  expect(LONG_FILES.filter((file) => isInHalf(file, 7))).toEqual(
    LONG_FILES.filter((_, place) => place % 2 === 0),
  )
})
