import { describe, expect, test } from 'vitest'
import { KIND_ROWS, rowTableLayout, STATE_LIVE } from '../../../src/state/rows/layout.ts'
import { RowReadAhead } from '../../../src/state/rows/read-ahead.ts'
import { MISSING, RowTableReader } from '../../../src/state/rows/reader.ts'
import { RowTable } from '../../../src/state/rows/row-table.ts'
import { bytesOf, hashOf } from '../vector/model.ts'

function tableOf(keys: readonly string[]): { table: RowTable; reader: RowTableReader } {
  const table = new RowTable(rowTableLayout(5, 16, 2))
  const reader = new RowTableReader({
    operatorUid: 'model',
    state: 'rows',
    queryableName: 'MODEL',
    keySuffix: '',
    meanKey: undefined,
    version: 1,
    slot: 0,
    firstKeyGroup: 0,
    lastKeyGroup: 127,
    maxParallelism: 128,
    dimension: 5,
    memory: table.memory,
  })
  for (const key of keys) write(table, key)
  return { table, reader }
}

function write(table: RowTable, key: string): void {
  const bytes = bytesOf(key)
  let row = table.takeFree(KIND_ROWS)
  if (row < 0) row = table.grow(KIND_ROWS)
  table.beginWrite(row)
  table.writeKey(row, bytes, bytes.length, hashOf(bytes), STATE_LIVE)
  table.endWrite(row)
  table.index.insert(hashOf(bytes), row)
}

const keys = Array.from({ length: 300 }, (_, i) => `key-${i}`)

describe('reading ahead', () => {
  test('finds the rows that a look-up finds, in a table that grew since it was opened', () => {
    const { reader } = tableOf(keys)
    const ahead = new RowReadAhead(keys.length)
    ahead.begin()
    for (const key of keys) ahead.add(reader, hashOf(bytesOf(key)))
    ahead.run()
    let known = 0
    keys.forEach((key, i) => {
      const bytes = bytesOf(key)
      const row = reader.find(bytes, 0, bytes.length, hashOf(bytes))
      expect(reader.findAt(ahead.rowAt(i), bytes, 0, bytes.length, hashOf(bytes))).toBe(row)
      if (ahead.rowAt(i) === row) known++
    })
    expect(known).toBeGreaterThan(keys.length * 0.9)
  })

  test('knows no row of a key that no table has', () => {
    const { reader } = tableOf(keys)
    const ahead = new RowReadAhead(2)
    ahead.begin()
    ahead.add(undefined, 1)
    ahead.add(reader, hashOf(bytesOf('another')))
    ahead.run()
    expect([ahead.rowAt(0), ahead.rowAt(1)]).toEqual([-1, -1])
  })

  test('a row that meanwhile belongs to another key is not taken for it', () => {
    const { table, reader } = tableOf(['one'])
    const one = bytesOf('one')
    const row = reader.find(one, 0, one.length, hashOf(one))
    table.index.remove(hashOf(one), row)
    table.free(row)
    write(table, 'two')
    const two = bytesOf('two')
    expect(reader.findAt(row, one, 0, one.length, hashOf(one))).toBe(MISSING)
    const moved = reader.find(two, 0, two.length, hashOf(two))
    expect(reader.findAt(row, two, 0, two.length, hashOf(two))).toBe(moved)
    expect(reader.findAt(1 << 20, two, 0, two.length, hashOf(two))).toBe(moved)
  })
})
