import { describe, expect, test } from 'vitest'
import type { EntrySpan } from '../../../src/state/port/change.ts'
import { vectorDeclaration } from '../../../src/state/port/format.ts'
import { encodeVectorRow } from '../../../src/state/rows/codec.ts'
import { RestoredStates } from '../../../src/state/vector/restored-states.ts'
import { bytesOf, NOWHERE, V1, VectorFixture } from './model.ts'

const ROWS = 50
const BLOCK_AT = 1000

const keyOf = (n: number): Uint8Array => bytesOf('k'.repeat(1 + (n % 11)) + n)
const rowOf = (n: number, dimension: number): Float32Array =>
  Float32Array.from({ length: dimension }, (_, i) => Math.sin(n * dimension + i) * 2 ** (n % 9))

/** Rows one after the other, at any alignment, as entries of a block that is in `memory` or in none. */
function* entriesOf(dimension: number, memory?: WebAssembly.Memory): Generator<EntrySpan> {
  const buffer = memory?.buffer ?? new ArrayBuffer(65536)
  const bytes = new Uint8Array(buffer, BLOCK_AT)
  const view = new DataView(buffer, BLOCK_AT)
  let keyAt = 0
  for (let n = 0; n < ROWS; n++) {
    const key = keyOf(n)
    const value = encodeVectorRow(rowOf(n, dimension), NOWHERE, n)
    const valueAt = keyAt + key.length
    bytes.set(key, keyAt)
    bytes.set(value, valueAt)
    const lengths = { keyLength: key.length, valueLength: value.length }
    yield { bytes, view, memory, keyAt, valueAt, ...lengths }
    keyAt = valueAt + value.length
  }
}

/** The rows of a table that was restored from a block, and their sums. */
function restored(dimension: number, memory?: WebAssembly.Memory) {
  const state = { kind: 'vector', name: 'rows', queryableName: 'MODEL', meanKey: 'MEAN' } as const
  const descriptor = { ...state, dimension }
  const fixture = new VectorFixture({ descriptor })
  const { tables } = fixture
  const declaration = vectorDeclaration(descriptor, V1)
  const restore = new RestoredStates(new Map([['rows', { descriptor, tables }]]), 'model')
  restore.begin([declaration])
  for (const entry of entriesOf(dimension, memory)) restore.takeSpan(declaration.name, entry)
  restore.end(4)
  const sums = new Float64Array(dimension)
  const count = fixture.reader().addMeanInto(0, sums)
  const rows = Array.from({ length: ROWS }, (_, n) => tables.get(V1, keyOf(n))!)
  return { rows, sums, count }
}

describe('rows in a block', () => {
  test.each([1, 3, 4, 7, 100])('are restored with their sums: %i floats', (dimension) => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 })
    const { rows, sums, count } = restored(dimension, memory)
    const expected = Array.from({ length: ROWS }, (_, n) => rowOf(n, dimension))
    expect(rows.map(({ vector }) => vector)).toEqual(expected)
    expect(rows.map(({ updateCount }) => updateCount)).toEqual(expected.map((_, n) => n))
    const total = new Float64Array(dimension)
    for (const row of expected) for (const [i, x] of row.entries()) total[i]! += x
    expect(sums).toEqual(total)
    expect(count).toBe(ROWS)
  })

  test.each([1, 4, 7, 100])('are the same from any other memory: %i floats', (dimension) => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 })
    expect(restored(dimension)).toEqual(restored(dimension, memory))
  })
})
