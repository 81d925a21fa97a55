import { expect, it } from 'vitest'
import { isInHalf } from './campaign-half.ts'
import { LONG_FILES } from './special-files.ts'

const FILES = [...LONG_FILES, ...Array.from({ length: 100 }, (_, n) => `test/part/${n}.test.ts`)]

it('each file is whole with each second seed', () => {
  for (const seed of [0, 1, 703_119]) {
    const both = FILES.map((file) => [isInHalf(file, seed), isInHalf(file, seed + 1)])
    expect(both.filter(([now, next]) => now === next)).toEqual([])
  }
})

it('about half of the files are whole, and of the long ones each second one', () => {
  const whole = FILES.filter((file) => isInHalf(file, 7))
  expect(whole.length).toBeGreaterThan(FILES.length / 3)
  expect(whole.length).toBeLessThan((2 * FILES.length) / 3)
  expect(LONG_FILES.filter((file) => isInHalf(file, 7))).toEqual(
    LONG_FILES.filter((_, place) => place % 2 === 1),
  )
})
