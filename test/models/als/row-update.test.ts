import { expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import type { Serializer } from '../../../src/core/serializer.ts'
import { encodeFactors } from '../../../src/models/als/row.ts'
import {
  LearnableRowSerializer,
  type RowUpdate,
  RowUpdateSerializer,
} from '../../../src/models/als/row-update.ts'

const key = { bytes: new Uint8Array(0), start: 0, length: 0 }
const floats = encodeFactors(Float32Array.of(1, -2))
const row: RowUpdate = {
  kind: 'row',
  key,
  version: 70_000,
  floats: { bytes: floats, start: 0, length: floats.length },
  ratings: 12,
}

function copied(serializer: Serializer<RowUpdate>, update: RowUpdate): RowUpdate {
  const writer = new ByteWriter()
  serializer.write(update, writer)
  return serializer.read(new ByteReader(writer.toBytes()))
}

it.each([
  ['with its ratings', new LearnableRowSerializer(), 12],
  ['without its ratings', new RowUpdateSerializer(), undefined],
] as const)('a published row is read back without its key, %s', (_, serializer, ratings) => {
  const read = copied(serializer, row)
  if (read.kind !== 'row') throw new Error(`a row was read as ${read.kind}`)
  const { bytes, start, length } = read.floats
  expect(bytes.slice(start, start + length)).toEqual(floats)
  expect([read.version, read.ratings]).toEqual([70_000, ratings])
})

it('an opened version is read back with the length of its rows, and without it as earlier builds wrote it', () => {
  const open = { kind: 'open', key, version: 3 } as const
  expect(copied(new RowUpdateSerializer(), { ...open, dimension: 6 })).toMatchObject({
    kind: 'open',
    version: 3,
    dimension: 6,
  })
  expect(copied(new LearnableRowSerializer(), open)).not.toHaveProperty('dimension')
})

it('a row of unknown ratings is read back as one', () => {
  const read = copied(new LearnableRowSerializer(), { ...row, ratings: undefined })
  expect(read).toMatchObject({ kind: 'row', ratings: undefined })
})

it.each(['remove', 'retire'] as const)('an update of kind %s is read back', (kind) => {
  for (const serializer of [new RowUpdateSerializer(), new LearnableRowSerializer()]) {
    expect(copied(serializer, { kind, key, version: 3 })).toMatchObject({ kind, version: 3 })
  }
})
