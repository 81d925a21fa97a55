import { expect, test } from 'vitest'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { decodeVectorRow } from '../../../src/state/rows/codec.ts'
import { rowTableLayout } from '../../../src/state/rows/layout.ts'
import { VectorEpochs } from '../../../src/state/vector/epochs.ts'
import { VectorSpillEntries } from '../../../src/state/vector/spill-entries.ts'
import { VectorStoreKeys } from '../../../src/state/vector/store-keys.ts'
import { VersionRows } from '../../../src/state/vector/version-rows.ts'

const DIMENSION = 3
const PREFIX = Uint8Array.of(7)

function tableOf(rows: number): VersionRows {
  const table = new VersionRows(
    {
      maxParallelism: 128,
      epochs: new VectorEpochs(),
      keepImages: false,
      keepMean: false,
      store: undefined,
      spillSink: () => ({ append() {} }),
      allows: () => true,
      snapshot: undefined,
      restoring: false,
      needsTombstones: false,
    },
    'rows@1',
    rowTableLayout(DIMENSION, 16),
    PREFIX,
  )
  for (let i = 0; i < rows; i++) {
    const origin = { partition: 0, offset: i, eventTime: 0 }
    table.put(keyOf(i), murmur3(keyOf(i)) | 0, Float32Array.of(i, 2 * i, 3 * i), origin)
  }
  return table
}

const keyOf = (i: number): Uint8Array => Buffer.from(`key-${i}`)

test('the entries of a batch are side by side, also in a batch with more entries than places', () => {
  const rows = 100
  const table = tableOf(rows)
  const entries = new VectorSpillEntries(table.memory, new VectorStoreKeys(PREFIX, 16))
  for (let round = 0; round < 2; round++) {
    const numbers = Array.from({ length: rows }, (_, i) =>
      table.rows.find(keyOf(i), murmur3(keyOf(i)) | 0),
    )
    const changes = numbers.map((row, n) => entries.at(n, row))
    for (let i = 0; i < rows; i++) {
      expect(Buffer.from(changes[i]!.key)).toEqual(Buffer.concat([PREFIX, keyOf(i)]))
      const { vector } = decodeVectorRow(changes[i]!.value!, DIMENSION)
      expect([...vector]).toEqual([i, 2 * i, 3 * i])
    }
  }
})
