import { expect, it } from 'vitest'
import { isInSixth } from './campaign-sixth.ts'
import { LONG_FILES } from './special-files.ts'

const FILES = [...LONG_FILES, ...Array.from({ length: 100 }, (_, n) => `test/part/${n}.test.ts`)]

it('each file is whole with a sixth of the seeds, whatever remainder they have', () => {
  for (const remainder of [0, 1, 2, 3, 4, 5]) {
    const seeds = Array.from({ length: 1_000 }, (_, n) => 6 * n + remainder)
    for (const file of FILES) {
      const count = seeds.filter((seed) => isInSixth(file, seed)).length
      expect(count, file).toBeGreaterThan(140)
      expect(count, file).toBeLessThan(195)
    }
  }
})

it('about a sixth of the files are whole, and of the long ones each sixth one', () => {
  const whole = FILES.filter((file) => isInSixth(file, 7))
  expect(whole.length).toBeGreaterThan(FILES.length / 10)
  expect(whole.length).toBeLessThan(FILES.length / 4)
  expect(LONG_FILES.filter((file) => isInSixth(file, 7))).toEqual(
    LONG_FILES.filter((_, place) => place % 6 === 0),
  )
})
