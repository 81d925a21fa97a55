import { expect, it } from 'vitest'
import { weightMemoryHeader, weightMemoryIn } from '../../../src/jobs/model-topic/weight-memory.ts'
import { encodeFactors } from '../../../src/models/als/row.ts'

const headerOf = (...memory: number[]) =>
  weightMemoryHeader(encodeFactors(Float32Array.from(memory)))

it('has bytes that never change, and reads back', () => {
  const headers = headerOf(1, 4, -0.5, -2)
  expect(headers.map(({ key, value }) => [key, Buffer.from(value!).toString('hex')])).toEqual([
    ['weight-memory', '0000803f00008040000000bf000000c0'],
  ])
  expect(weightMemoryIn(headers, 2)).toEqual(Float32Array.of(1, 4, -0.5, -2))
})

it.each([
  ['of no header', []],
  ['of another range', headerOf(1, 1)],
  ['with a number that is not finite', headerOf(1, Number.NaN, 1, 1)],
  ['with a sum of squares below 0', headerOf(1, -1, 1, 1)],
  ['without a value', [{ key: 'weight-memory', value: null }]],
])('is ignored %s: the weights are served all the same', (_, headers) => {
  expect(weightMemoryIn(headers, 2)).toBeUndefined()
})
