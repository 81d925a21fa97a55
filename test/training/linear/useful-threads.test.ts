import { expect, test } from 'vitest'
import { usefulThreads } from '../../../src/training/linear/useful-threads.ts'

test.each([
  { asked: 8, blocks: 8, nonZeros: 10, threads: 1 },
  { asked: 8, blocks: 8, nonZeros: 499_999, threads: 1 },
  { asked: 8, blocks: 8, nonZeros: 500_000, threads: 2 },
  { asked: 8, blocks: 8, nonZeros: 1e9, threads: 8 },
  { asked: 8, blocks: 3, nonZeros: 1e9, threads: 3 },
  { asked: 2, blocks: 8, nonZeros: 1e9, threads: 2 },
  { asked: 1, blocks: 1, nonZeros: 0, threads: 1 },
])('$asked threads for $blocks blocks of $nonZeros non-zeros are $threads', (one) => {
  expect(usefulThreads(one.asked, one)).toBe(one.threads)
})
