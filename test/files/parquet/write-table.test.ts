import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { describe, expect, it } from 'vitest'
import { type ParquetColumn, parquetOf } from '../../../src/files/parquet/write-table.ts'

/** The rows that another library reads from the bytes of a table. */
async function rowsOf(columns: readonly ParquetColumn[]) {
  const bytes = parquetOf(columns)
  const file = bytes.buffer.slice(0, bytes.length) as ArrayBuffer
  return { rows: await parquetReadObjects({ file }), metadata: parquetMetadata(file) }
}

describe('a table as a Parquet file', () => {
  it('has values of each type, and nulls anywhere', async () => {
    const { rows } = await rowsOf([
      { name: 'n', type: 'number', values: [null, -0.5, 1e300, null, 3] },
      { name: 'tëxt', type: 'text', values: ['', 'ä€😀', null, null, 'x'.repeat(70_000)] },
      { name: 'b', type: 'boolean', values: [true, null, false, true, true] },
      { name: 't', type: 'time', values: [0, 1_700_000_000_123, null, 4e12, -1] },
    ])
    expect(rows).toEqual([
      { n: null, tëxt: '', b: true, t: new Date(0) },
      { n: -0.5, tëxt: 'ä€😀', b: null, t: new Date(1_700_000_000_123) },
      { n: 1e300, tëxt: null, b: false, t: null },
      { n: null, tëxt: null, b: true, t: new Date(4e12) },
      { n: 3, tëxt: 'x'.repeat(70_000), b: true, t: new Date(-1) },
    ])
  })

  it('has groups of rows', async () => {
    const values = Array.from({ length: 250_001 }, (_, n) => (n % 7 === 0 ? null : n))
    const flags = values.map((value) => value !== null && value % 3 === 0)
    const { rows, metadata } = await rowsOf([
      { name: 'n', type: 'number', values },
      { name: 'flag', type: 'boolean', values: flags },
    ])
    expect(metadata.row_groups).toHaveLength(3)
    expect(rows.map(({ n }) => n)).toEqual(values)
    expect(rows.map(({ flag }) => flag)).toEqual(flags)
  })

  it('may have no row, and more columns than a short list counts', async () => {
    const columns = Array.from({ length: 20 }, (_, n): ParquetColumn => {
      return { name: `c${n}`, type: 'number', values: [] }
    })
    const { rows, metadata } = await rowsOf(columns)
    expect(rows).toEqual([])
    expect(metadata.schema.map(({ name }) => name)).toEqual([
      'schema',
      ...columns.map(({ name }) => name),
    ])
  })
})
