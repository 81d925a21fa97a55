import { expect, it } from 'vitest'
import type { JobDetail, JobLive } from '../../../dashboard/src/data/answers.ts'
import { requirementsOf } from '../../../dashboard/src/data/requirements.ts'

it('asks for a parallelism of all operators but those whose code fixes theirs', () => {
  const vertices = [
    { id: 'a', parallelism: 2 },
    { id: 'b', parallelism: 3 },
    { id: 'c', parallelism: 2 },
  ]
  const live = [
    { id: 'a', hasOwnParallelism: false },
    { id: 'b', hasOwnParallelism: true },
  ]
  expect(
    requirementsOf(
      { vertices } as unknown as JobDetail,
      { vertices: live } as unknown as JobLive,
      5,
    ),
  ).toEqual({
    a: { parallelism: { lowerBound: 1, upperBound: 5 } },
    b: { parallelism: { lowerBound: 3, upperBound: 3 } },
    c: { parallelism: { lowerBound: 1, upperBound: 5 } },
  })
})
