import { expect, it } from 'vitest'
import { SampleRing } from '../../../../src/cluster/rest/live/sample-ring.ts'

it('keeps the newest samples, with null where a metric had no finite value', () => {
  const ring = new SampleRing({ samples: 3, metrics: 10 })
  ring.add(1000, { a: 1 })
  ring.add(2000, { a: 2, b: 20 })
  ring.add(3000, { a: Number.NaN, b: 30 })
  ring.add(4000, { b: 40 })
  expect(ring.read(['a', 'b', 'unknown'], 300)).toEqual({
    times: [2000, 3000, 4000],
    values: [
      [2, null, null],
      [20, 30, 40],
      [null, null, null],
    ],
  })
  expect(ring.read(['b'], 1)).toEqual({ times: [4000], values: [[40]] })
})

it('ignores a sample that is not newer', () => {
  const ring = new SampleRing({ samples: 3, metrics: 10 })
  ring.add(1000, { a: 1 })
  ring.add(1000, { a: 2 })
  expect(ring.read(['a'], 3)).toEqual({ times: [1000], values: [[1]] })
})

it('keeps a bounded number of metrics, and gives the place of one without samples to a new one', () => {
  const ring = new SampleRing({ samples: 2, metrics: 1 })
  ring.add(1000, { old: 1 })
  ring.add(2000, { new: 2 })
  expect(ring.read(['new'], 1).values).toEqual([[null]])
  ring.add(3000, { new: 3 })
  expect(ring.read(['old', 'new'], 1).values).toEqual([[null], [3]])
})
