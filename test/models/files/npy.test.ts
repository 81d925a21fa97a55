import { describe, expect, it } from 'vitest'
import { npyRow, parseNpyHeader } from '../../../src/models/files/npy.ts'
import { npyFile } from './npy-file.ts'

describe('a NumPy matrix', () => {
  it.each(['<f4', '<f8'] as const)('of %s is read row by row', (type) => {
    const file = npyFile(type, [
      [1, 2, 3],
      [-0.5, 4, 1e-3],
    ])
    const matrix = parseNpyHeader(file)
    expect(matrix).toMatchObject({ rows: 2, columns: 3, start: 128 })
    const rows = file.subarray(matrix.start)
    expect([...npyRow(matrix, rows, 1)]).toEqual([-0.5, 4, Math.fround(1e-3)])
  })

  it.each([
    ['no such file', (file: Uint8Array) => file.fill(0, 0, 1), 'does not begin as one'],
    ['whole numbers', (file: Uint8Array) => replaced(file, "'<f4'", "'<i4'"), 'elements are <i4'],
    ['columns first', (file: Uint8Array) => replaced(file, 'False', 'True '), 'Fortran order'],
    ['a vector', (file: Uint8Array) => replaced(file, '(1, 2)', '(2,)  '), 'two dimensions'],
    ['without columns', (file: Uint8Array) => replaced(file, '(1, 2)', '(1, 0)'), '0 columns'],
    ['too wide', (file: Uint8Array) => replaced(file, '(1, 2)', '(1, 999999)'), '999999 columns'],
    ['a cut header', (file: Uint8Array) => file.subarray(0, 60), 'truncated'],
  ])('that is %s is refused', (_, spoil, message) => {
    expect(() => parseNpyHeader(spoil(npyFile('<f4', [[1, 2]])))).toThrow(message)
  })
})

function replaced(file: Uint8Array, from: string, to: string): Uint8Array {
  return Buffer.from(Buffer.from(file).toString('latin1').replace(from, to), 'latin1')
}
