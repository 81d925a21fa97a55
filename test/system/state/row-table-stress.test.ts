import { expect, test } from 'vitest'
import { stressRowTable } from '../../../benchmarks/state/row-table-stress/stress.ts'
import { systemClock } from '../../../src/core/clock.ts'

test('no reader thread ever sees a row that mixes two writes or two keys', async () => {
  const { reads, violations } = await stressRowTable({
    reads: 2_000_000,
    limitMs: 60_000,
    readers: 2,
    seed: 1,
    clock: systemClock,
  })
  expect(reads).toBeGreaterThan(100_000)
  expect(violations).toBe(0)
})
