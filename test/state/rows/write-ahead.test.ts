import { expect, test } from 'vitest'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { KIND_ROWS, rowTableLayout, STATE_LIVE } from '../../../src/state/rows/layout.ts'
import { RowTable } from '../../../src/state/rows/row-table.ts'
import { RowWriteAhead } from '../../../src/state/rows/write-ahead.ts'

const encoder = new TextEncoder()

/** A table with rows `0` to `rows - 1`, larger than the processor's cache. */
function tableOf(rows: number): RowTable {
  const table = new RowTable(rowTableLayout(64, 16))
  for (let n = 0; n < rows; n++) {
    const key = encoder.encode(String(n))
    const hash = murmur3(key) | 0
    const free = table.takeFree(KIND_ROWS)
    const row = free < 0 ? table.grow(KIND_ROWS) : free
    table.writeKey(row, key, key.length, hash, STATE_LIVE)
    table.index.insert(hash, row)
  }
  return table
}

const hashesOf = (keys: readonly string[]): Int32Array =>
  Int32Array.from(keys, (key) => murmur3(encoder.encode(key)) | 0)

test('changes nothing in the table, whatever is asked for', () => {
  const table = tableOf(20_000)
  expect(table.allocatedBytes).toBeGreaterThan(4 * 1024 * 1024)
  const before = table.arena.words.slice()
  const ahead = new RowWriteAhead()
  ahead.run(table, hashesOf(['1', '19999', 'absent', '1']), 4)
  ahead.run(table, hashesOf([]), 0)
  ahead.run(
    table,
    Int32Array.from({ length: 200 }, (_, n) => Math.imul(n, 0x9e3779b1)),
    200,
  )
  expect(table.arena.words.every((word, at) => word === before[at])).toBe(true)
})
