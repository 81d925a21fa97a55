import { expect, it } from 'vitest'
import { encodeFactors } from '../../../src/models/als/row.ts'
import {
  rowMemoryHeader,
  varianceOf,
  weightMemoryIn,
} from '../../../src/models/topic/row-memory.ts'

const headerOf = (...memory: number[]) =>
  rowMemoryHeader('7-W', encodeFactors(Float32Array.from(memory)))

it('has bytes that never change, and reads back', () => {
  const headers = headerOf(1, 4, -0.5, -2)
  expect(headers.map(({ key, value }) => [key, Buffer.from(value!).toString('hex')])).toEqual([
    ['weight-memory', '0000803f00008040000000bf000000c0'],
  ])
  expect(weightMemoryIn(headers, 2)).toEqual(Float32Array.of(1, 4, -0.5, -2))
})

it('is that of FTRL-proximal where the first part is below 0', () => {
  expect(weightMemoryIn(headerOf(-4, 1, 0.5, 2), 2)).toEqual(Float32Array.of(-4, 1, 0.5, 2))
})

it.each([
  ['of no header', []],
  ['of another range', headerOf(1, 1)],
  ['with a number that is not finite', headerOf(1, Number.NaN, 1, 1)],
  ['without a value', [{ key: 'weight-memory', value: null }]],
])('is ignored %s: the weights are served all the same', (_, headers) => {
  expect(weightMemoryIn(headers, 2)).toBeUndefined()
})

it('has the variances of a user or an item under a name of their own', () => {
  const headers = rowMemoryHeader('7-U', encodeFactors(Float32Array.of(0.5, 1)))
  expect(headers.map(({ key, value }) => [key, Buffer.from(value!).toString('hex')])).toEqual([
    ['variance', '0000003f0000803f'],
  ])
  expect(varianceOf({ header: () => headers[0]?.value })).toEqual(Float32Array.of(0.5, 1))
  expect(weightMemoryIn(headers, 1)).toBeUndefined()
})

it.each([
  ['with a part below 0', Float32Array.of(-0.1, 1)],
  ['with a part that is not finite', Float32Array.of(Number.NaN, 1)],
  ['of another length', Float32Array.of(1, 1, 1)],
])('reads no variances %s', (_, row) => {
  expect(varianceOf({ header: () => encodeFactors(row) })).toBeUndefined()
})
