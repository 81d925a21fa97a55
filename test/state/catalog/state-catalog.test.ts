import { expect, test } from 'vitest'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { StateCatalog } from '../../../src/state/catalog/state-catalog.ts'
import { V1, VectorFixture } from '../vector/model.ts'

const TABLE = { operatorUid: 'model', state: 'rows', version: 1 }

const shareOf = (slot: number, first: number, last: number, maxParallelism = 128) => {
  const fixture = new VectorFixture({ slot, keyGroups: { first, last }, maxParallelism })
  fixture.tables.openVersion(V1)
  return fixture.shares.get(1)!
}

test.each([128, 96])('a key goes to the table of its key group, one of %i', (groups) => {
  const catalog = new StateCatalog()
  const half = groups / 2
  catalog.add(shareOf(0, 0, half - 1, groups))
  catalog.add(shareOf(1, half, groups - 1, groups))
  const version = catalog.state('MODEL')!.keyClasses[0]!.versions.get(1)!
  for (let i = 0; i < 50; i++) {
    const hash = murmur3(Buffer.from(`${i}`))
    const slot = hash % groups < half ? 0 : 1
    expect(version.readerOf(hash | 0)!.share.slot).toBe(slot)
    expect(version.keyClass.slotOf(hash | 0)).toBe(slot)
  }
})

test('a table of the same slot and version replaces the one before', () => {
  const catalog = new StateCatalog()
  catalog.add(shareOf(0, 0, 127))
  const second = shareOf(0, 0, 127)
  catalog.add(second)
  const { readers } = catalog.state('MODEL')!.keyClasses[0]!.versions.get(1)!
  expect(readers.map(({ share }) => share)).toEqual([second])
})

test('a version is known until its last table is dropped', () => {
  const catalog = new StateCatalog()
  catalog.add(shareOf(0, 0, 63))
  catalog.add(shareOf(1, 64, 127))
  catalog.drop({ ...TABLE, slot: 0 })
  expect(catalog.state('MODEL')!.versions()).toEqual([1])
  catalog.drop({ ...TABLE, slot: 1 })
  expect(catalog.state('MODEL')!.versions()).toEqual([])
})

test('a slot owns its key groups after its table was dropped', () => {
  const catalog = new StateCatalog()
  catalog.add(shareOf(0, 0, 63))
  catalog.add(shareOf(1, 64, 127))
  catalog.drop({ ...TABLE, slot: 0 })
  expect([...catalog.state('MODEL')!.keyClasses[0]!.slots]).toEqual([0, 1])
})

test('the same tables are found by operator and by queryable name', () => {
  const catalog = new StateCatalog()
  expect(catalog.version('model', 'rows', 1)).toBeUndefined()
  catalog.add(shareOf(0, 0, 127))
  const version = catalog.state('MODEL')!.keyClasses[0]!.versions.get(1)!
  expect(catalog.version('model', 'rows', 1)).toBe(version)
})

test('a table without a queryable name is found by operator only', () => {
  const catalog = new StateCatalog()
  catalog.add({ ...shareOf(0, 0, 127), queryableName: undefined })
  expect(catalog.state('MODEL')).toBeUndefined()
  expect(catalog.version('model', 'rows', 1)!.readers).toHaveLength(1)
})

test('every change is counted, so that what was looked up before is known to be stale', () => {
  const catalog = new StateCatalog()
  catalog.add(shareOf(0, 0, 127))
  catalog.drop({ ...TABLE, slot: 0 })
  expect(catalog.changes).toBe(2)
})
