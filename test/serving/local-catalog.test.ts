import { expect, test } from 'vitest'
import { murmur3 } from '../../src/core/murmur3.ts'
import { LocalCatalog } from '../../src/serving/local-catalog.ts'
import { V1, VectorFixture } from '../state/vector-state-model.ts'

const shareOf = (slot: number, first: number, last: number) => {
  const fixture = new VectorFixture({ slot, keyGroups: { first, last } })
  fixture.tables.openVersion(V1)
  return fixture.shares.get(1)!
}

test('a key goes to the table of its key group', () => {
  const catalog = new LocalCatalog()
  catalog.add(shareOf(0, 0, 63))
  catalog.add(shareOf(1, 64, 127))
  const version = catalog.state('MODEL')!.sides[0]!.versions.get(1)!
  for (let i = 0; i < 50; i++) {
    const hash = murmur3(Buffer.from(`${i}`))
    const slot = hash % 128 < 64 ? 0 : 1
    expect(version.readerOf(hash | 0)!.share.slot).toBe(slot)
    expect(version.side.slotOf(hash | 0)).toBe(slot)
  }
})

test('a table of the same slot and version replaces the one before', () => {
  const catalog = new LocalCatalog()
  catalog.add(shareOf(0, 0, 127))
  const second = shareOf(0, 0, 127)
  catalog.add(second)
  const { readers } = catalog.state('MODEL')!.sides[0]!.versions.get(1)!
  expect(readers.map(({ share }) => share)).toEqual([second])
})

test('a version is known until its last table is dropped', () => {
  const catalog = new LocalCatalog()
  catalog.add(shareOf(0, 0, 63))
  catalog.add(shareOf(1, 64, 127))
  catalog.drop('model', 'rows', 1, 0)
  expect(catalog.state('MODEL')!.versions()).toEqual([1])
  catalog.drop('model', 'rows', 1, 1)
  expect(catalog.state('MODEL')!.versions()).toEqual([])
})

test('a slot that is gone owns nothing any more', () => {
  const catalog = new LocalCatalog()
  catalog.add(shareOf(0, 0, 63))
  catalog.add(shareOf(1, 64, 127))
  catalog.dropSlot(0)
  const side = catalog.state('MODEL')!.sides[0]!
  expect([...side.slots]).toEqual([1])
})
