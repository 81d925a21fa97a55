import { describe, expect, it } from 'vitest'
import { type RowCopy, rowCopyOf } from '../../../src/core/kernels/row-copy.ts'

const PAGE = 65536
const SUMS = 1024

const blockOf = (pages: number): WebAssembly.Memory =>
  new WebAssembly.Memory({ initial: pages, maximum: pages })
const tableOf = (pages: number): WebAssembly.Memory =>
  new WebAssembly.Memory({ initial: pages, maximum: 16, shared: true })

/** Writes `count` floats of many magnitudes from byte `from`. */
function writeRow(block: DataView, from: number, count: number): void {
  let state = from
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    block.setFloat32(from + 4 * i, (state / 2 ** 31) * 2 ** ((state >>> 8) % 24), true)
  }
}

/** The same by a plain loop. */
function plainCopy(block: DataView, table: DataView): RowCopy {
  return (from, to, sums, quads) => {
    for (let i = 0; i < 4 * quads; i++) {
      table.setInt32(to + 4 * i, block.getInt32(from + 4 * i, true), true)
      const sum = table.getFloat64(sums + 8 * i, true) + block.getFloat32(from + 4 * i, true)
      table.setFloat64(sums + 8 * i, sum, true)
    }
  }
}

describe('the copy of a row from a block into a table', () => {
  it('copies and sums as a plain loop does, bit by bit, at any alignment', () => {
    const block = blockOf(2)
    const [table, expected] = [tableOf(2), tableOf(2)]
    const source = new DataView(block.buffer)
    const copy = rowCopyOf(block, table)!
    const plain = plainCopy(source, new DataView(expected.buffer))
    for (let n = 0; n < 600; n++) {
      const quads = 1 + (n % 27)
      const [from, to] = [n * 131, PAGE + 16 * ((n * 7) % 3000)]
      writeRow(source, from, 4 * quads)
      copy(from, to, SUMS, quads)
      plain(from, to, SUMS, quads)
    }
    expect(Buffer.from(table.buffer).equals(Buffer.from(expected.buffer))).toBe(true)
  })

  it('keeps every bit of zeros, infinities, NaN and subnormal numbers', () => {
    const [block, table] = [blockOf(1), tableOf(1)]
    const bits = [0x80000000, 0x7f800000, 0xff800000, 0x7fa00001, 0x00000001, 0x807fffff, 0, 1]
    new Uint32Array(block.buffer, 0, 8).set(bits)
    rowCopyOf(block, table)!(0, 4096, SUMS, 2)
    expect([...new Uint32Array(table.buffer, 4096, 8)]).toEqual(bits)
  })

  it('writes into what a table has after it grew, and nowhere else', () => {
    const [block, table] = [blockOf(1), tableOf(1)]
    const copy = rowCopyOf(block, table)!
    table.grow(1)
    new Float32Array(block.buffer, 0, 4).fill(3)
    const end = 2 * PAGE
    copy(0, end - 16, SUMS, 1)
    const floats = new Float32Array(table.buffer)
    expect([...floats.subarray(end / 4 - 5)]).toEqual([0, 3, 3, 3, 3])
    expect([...new Float64Array(table.buffer, SUMS, 5)]).toEqual([3, 3, 3, 3, 0])
    expect(() => copy(0, end - 12, SUMS, 1)).toThrow(WebAssembly.RuntimeError)
    expect(() => copy(PAGE - 12, 4096, SUMS, 1)).toThrow(WebAssembly.RuntimeError)
  })
})
