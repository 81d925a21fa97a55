import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { mapState } from '../../../src/state/port/descriptors.ts'
import { type PlacedMapState, placedMap } from '../../../src/state/port/handles.ts'
import type { KeyedStateBackend } from '../../../src/state/port/keyed-state-backend.ts'
import { Backends, select } from '../keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

async function mapOf(
  options: Parameters<Backends['create']>[0] = {},
): Promise<{ backend: KeyedStateBackend; map: PlacedMapState<number, string> }> {
  const backend = await backends.create(options)
  select(backend, 'k')
  return { backend, map: placedMap(backend.map(mapState<number, string>('map'))) }
}

describe('the place of an entry of a map', () => {
  it('leads to its value, and to its removal', async () => {
    const { map } = await mapOf()
    const place = map.place(1, 'one')
    expect(place).toBeDefined()
    expect(map.getAt(1, place)).toBe('one')
    map.removeAt(1, place)
    expect([map.has(1), map.getAt(1, place)]).toEqual([false, undefined])
    map.put(1, 'again')
    expect(map.getAt(1, place)).toBe('again')
    map.removeAt(1, place)
    expect(map.isEmpty()).toBe(true)
  })

  it('leads there also when the entry has left memory, after which entries have none', async () => {
    const { backend, map } = await mapOf({ storeType: 'rocksdb', budget: 20_000 })
    const places = Array.from({ length: 400 }, (_, n) => {
      select(backend, 'k')
      return map.place(n, `value ${n}`)
    })
    expect([places[0], places[399]]).toEqual([expect.anything(), undefined])
    for (const [n, place] of places.entries()) expect(map.getAt(n, place)).toBe(`value ${n}`)
    for (const [n, place] of places.entries()) if (n % 2 === 0) map.removeAt(n, place)
    expect([...map.keys()]).toEqual(Array.from({ length: 200 }, (_, n) => 2 * n + 1))
  })
})
