import { threadId } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import {
  KIND_ROWS,
  ROW_SEQUENCE,
  readControl,
  rowTableLayout,
  STATE_LIVE,
} from '../../../src/state/rows/layout.ts'
import { MISSING, RowTableReader, STUCK } from '../../../src/state/rows/reader.ts'
import { RowTable } from '../../../src/state/rows/row-table.ts'
import { releaseScratchOfThread } from '../../../src/state/rows/view.ts'
import { readRow, type StoredRow } from '../../recovery/row-tables.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { bytesOf, hashOf } from '../vector/model.ts'

const shareOf = (table: RowTable) => ({
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
  dimension: table.layout.dimension,
  memory: table.memory,
})

const write = (table: RowTable, key: string, value: number): number => {
  const bytes = bytesOf(key)
  let row = table.find(bytes, hashOf(bytes))
  const fresh = row < 0
  if (fresh) row = table.takeFree(KIND_ROWS)
  if (row < 0) row = table.grow(KIND_ROWS)
  table.beginWrite(row)
  table.writeKey(row, bytes, bytes.length, hashOf(bytes), STATE_LIVE)
  table.arena.floats.fill(value, table.floatsOf(row), table.floatsOf(row) + table.layout.dimension)
  table.endWrite(row)
  if (fresh) table.index.insert(hashOf(bytes), row)
  return row
}

const remove = (table: RowTable, key: string): void => {
  const bytes = bytesOf(key)
  const row = table.find(bytes, hashOf(bytes))
  table.index.remove(hashOf(bytes), row)
  table.free(row)
}

const find = (reader: RowTableReader, key: string): number => {
  const bytes = bytesOf(key)
  return reader.find(bytes, 0, bytes.length, hashOf(bytes))
}

describe('layout', () => {
  test('the control page and the first row are where the drawing says', () => {
    const table = new RowTable(rowTableLayout(3, 8, 1))
    const row = write(table, 'ab', 1.5)
    const words = table.arena.words
    expect([...words.subarray(0, 8)]).toEqual([0x42545257, 3, 3, 4, 8, 16, 1, 16384])
    const segment = words[16384]!
    expect(segment % 16).toBe(0)
    expect([...words.subarray(segment, segment + 3)]).toEqual([2, 0, 1])
    const header = segment + 80 + row * 16
    const hash = hashOf(bytesOf('ab'))
    expect([...words.subarray(header, header + 4)]).toEqual([2, 2 | STATE_LIVE, 0, hash])
    expect([...words.subarray(header + 4, header + 14)]).toEqual(new Array(10).fill(0))
    expect([...words.subarray(header + 14, header + 16)]).toEqual([0x6261, 0])
    const floats = segment + 80 + 2 * 16 + row * 4
    expect([...table.arena.floats.subarray(floats, floats + 4)]).toEqual([1.5, 1.5, 1.5, 0])
  })

  test('a layout read from the control page is the one that was written', () => {
    const layout = rowTableLayout(100, 32)
    expect(readControl(new RowTable(layout).arena.words)).toEqual(layout)
  })

  test('an unknown version is UNSUPPORTED_VERSION, other memory MALFORMED_DATA', () => {
    const table = new RowTable(rowTableLayout(3, 8, 1))
    table.arena.words[1] = 1
    expect(() => new RowTableReader(shareOf(table))).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_VERSION' }),
    )
    table.arena.words[0] = 0
    expect(() => new RowTableReader(shareOf(table))).toThrow(
      expect.objectContaining({ code: 'MALFORMED_DATA' }),
    )
  })

  test('segments of any dimension suffice for the whole memory', () => {
    for (const dimension of [1, 4, 100, 1000, 65536]) {
      const layout = rowTableLayout(dimension, 32)
      expect(layout.segmentWords * 4 * 32768).toBeGreaterThanOrEqual(2 ** 32)
      expect(layout.floatsAt % 4).toBe(0)
    }
  })
})

describe('index', () => {
  test('an index made large enough beforehand does not grow, and readers find every row', () => {
    const table = new RowTable(rowTableLayout(4, 16))
    table.index.reserve(5000)
    const bytes = table.index.bytes
    for (let i = 0; i < 5000; i++) write(table, `k${i}`, i)
    expect(table.index.bytes).toBe(bytes)
    const reader = new RowTableReader(shareOf(table))
    for (const i of [0, 1, 2500, 4999]) {
      const key = bytesOf(`k${i}`)
      expect(find(reader, `k${i}`)).toBe(table.find(key, hashOf(key)))
    }
  })

  test('an index with rows in it, or one that is large enough, stays as it is', () => {
    const table = new RowTable(rowTableLayout(4, 16))
    const small = table.index.bytes
    table.index.reserve(10)
    expect(table.index.bytes).toBe(small)
    write(table, 'a', 1)
    table.index.reserve(5000)
    expect(table.index.bytes).toBe(small)
  })

  test('finds exactly the keys that are there, through random insertion and removal', () => {
    const random = seededRandom(11)
    const table = new RowTable(rowTableLayout(1, 16, 4))
    const reader = new RowTableReader(shareOf(table))
    const present = new Map<string, number>()
    const keys = campaignSize(4_000, 20_000)
    for (let n = 0; n < 3 * keys; n++) {
      const key = `k${random.below(keys)}`
      if (present.has(key) && random.below(2) === 0) {
        remove(table, key)
        present.delete(key)
      } else present.set(key, write(table, key, n))
    }
    for (let i = 0; i < keys; i++) {
      expect(find(reader, `k${i}`)).toBe(present.get(`k${i}`) ?? MISSING)
    }
  })
})

describe('reading', () => {
  test('a row that changed after it was found is noticed', () => {
    const table = new RowTable(rowTableLayout(4, 8, 2))
    const reader = new RowTableReader(shareOf(table))
    write(table, 'a', 1)
    const row = find(reader, 'a')
    const sequence = reader.foundSequence
    expect(reader.dot(row, sequence, reader, row, sequence)).toBe(4)
    write(table, 'a', 2)
    expect(reader.dot(row, sequence, reader, row, sequence)).toBeNaN()
    expect(reader.readInto(row, sequence, new Float32Array(4), 0)).toBe(false)
  })

  test('a row that a dead writer left in the middle of a write is STUCK', () => {
    const table = new RowTable(rowTableLayout(4, 8, 2))
    const reader = new RowTableReader(shareOf(table))
    const row = write(table, 'a', 1)
    table.beginWrite(row)
    expect(table.arena.words[table.headerOf(row) + ROW_SEQUENCE]! & 1).toBe(1)
    expect(find(reader, 'a')).toBe(STUCK)
    table.endWrite(row)
    expect(find(reader, 'a')).toBe(row)
  })

  test('what reads all rows for a test leaves out the one that a dead writer left in the middle of a write', () => {
    const table = new RowTable(rowTableLayout(4, 8, 2))
    const reader = new RowTableReader(shareOf(table))
    const [left, whole] = [write(table, 'a', 1), write(table, 'b', 2)]
    table.beginWrite(left)
    const rows = new Map<string, StoredRow>()
    for (const row of [left, whole]) readRow(reader, row, rows)
    expect([...rows.keys()]).toEqual(['b'])
    table.endWrite(left)
    readRow(reader, left, rows)
    expect([...rows.keys()]).toEqual(['b', 'a'])
  })

  test('an index that a dead writer left in the middle of a move is STUCK for missing keys', () => {
    const table = new RowTable(rowTableLayout(4, 8, 2))
    const reader = new RowTableReader(shareOf(table))
    Atomics.add(table.arena.words, 32, 1)
    expect(find(reader, 'a')).toBe(STUCK)
  })

  test('a reader that opened early sees rows beyond the memory it knew', () => {
    const table = new RowTable(rowTableLayout(256, 16))
    const reader = new RowTableReader(shareOf(table))
    for (let i = 0; i < 5000; i++) write(table, `k${i}`, i)
    const row = find(reader, 'k4999')
    expect(reader.element(row, 255)).toBe(4999)
  })

  test('rows beyond 2 GiB are addressed', () => {
    const table = new RowTable(rowTableLayout(4, 8, 2))
    const reader = new RowTableReader(shareOf(table))
    // The memory below is never touched, so it costs no physical memory.
    table.arena.allocateUntouched(2 ** 29 + 2 ** 28)
    write(table, 'far', 7)
    const row = find(reader, 'far')
    expect(reader.element(row, 3)).toBe(7)
    expect(reader.blockOf(0) * 4).toBeGreaterThan(2 ** 31)
  })

  test('at the limit of the memory growth is OUT_OF_ROW_MEMORY', () => {
    const table = new RowTable(rowTableLayout(1024, 16), 80)
    expect(() => {
      for (let i = 0; i < 5000; i++) write(table, `k${i}`, i)
    }).toThrow(expect.objectContaining({ code: 'OUT_OF_ROW_MEMORY' }))
  })

  test('all scratch areas can be taken once, and again after they are released', () => {
    const table = new RowTable(rowTableLayout(4, 8, 2))
    const reader = new RowTableReader(shareOf(table))
    const taken = Array.from({ length: 8 }, () => reader.takeScratch())
    expect(new Set(taken).size).toBe(8)
    expect(reader.takeScratch()).toBe(-1)
    reader.releaseScratch(taken[5]!)
    expect(reader.takeScratch()).toBe(taken[5])
  })
  test('scratch areas of a thread that died are released, those of others are not', () => {
    const table = new RowTable(rowTableLayout(4, 8, 2))
    const reader = new RowTableReader(shareOf(table))
    for (let area = 0; area < 8; area++) reader.takeScratch()
    releaseScratchOfThread(shareOf(table), threadId + 1)
    expect(reader.takeScratch()).toBe(-1)
    releaseScratchOfThread(shareOf(table), threadId)
    expect(reader.takeScratch()).not.toBe(-1)
  })
})
