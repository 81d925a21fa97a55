import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { listState, mapState, valueState } from '../../../src/state/port/descriptors.ts'
import type { KeyedStateBackend } from '../../../src/state/port/keyed-state-backend.ts'
import {
  Backends,
  finish,
  MAX_PARALLELISM,
  restoreFrom,
  Segment,
  text,
} from '../keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

/** Pairs of keys of one hash, of five, eight, nine (numbers) and twelve bytes. */
const PAIRS = [
  ['22e0e65651', 'b87a7d2bff'],
  ['e159d1dea2779a4b', 'f59eca1144ab00f9'],
  ['f8d99742590c0d29fa', 'f88a86823014e5bbac'],
  ['406b6953c528d44d98300167', '12a407ea43745832fdf500b6'],
] as const
const NAMESPACES = [text(''), text('window')]

/** The three states, whose entries are those of the selected key and namespace. */
function statesOf(backend: KeyedStateBackend) {
  const value = backend.value(valueState('value', { serializer: stringSerializer }))
  const list = backend.list(listState('list', { serializer: stringSerializer }))
  const map = backend.map(
    mapState('map', { keySerializer: stringSerializer, serializer: stringSerializer }),
  )
  return {
    write(content: string): void {
      value.update(content)
      list.update([content])
      map.put('', content)
    },
    read: () => [value.value(), [...(list.get() ?? [])][0], map.get('')],
    clear: () => value.clear(),
  }
}

function select(backend: KeyedStateBackend, hex: string, namespace: Uint8Array): void {
  const key = Buffer.from(hex, 'hex')
  backend.setCurrentKey(key, keyGroupOf(key, MAX_PARALLELISM))
  backend.setCurrentNamespace(namespace)
}

describe('keys of one hash', () => {
  it.each(PAIRS)('%s and %s have values of their own, restored too', async (...pair) => {
    const [first, second] = pair
    expect(murmur3(Buffer.from(first, 'hex'))).toBe(murmur3(Buffer.from(second, 'hex')))
    const places = pair.flatMap((key) => NAMESPACES.map((namespace) => ({ key, namespace })))
    const backend = await backends.create()
    const states = statesOf(backend)
    const expectOwn = (of: KeyedStateBackend, { read }: ReturnType<typeof statesOf>): void => {
      for (const [n, { key, namespace }] of places.entries()) {
        select(of, key, namespace)
        expect(read()).toEqual([`${n}`, `${n}`, `${n}`])
      }
    }
    for (const [n, { key, namespace }] of places.entries()) {
      select(backend, key, namespace)
      states.write(`${n}`)
    }
    expectOwn(backend, states)
    const segment = new Segment()
    finish(backend.snapshot(1, segment, true))
    const restored = await backends.create()
    restoreFrom(restored, backend, [segment])
    const again = statesOf(restored)
    expectOwn(restored, again)
    select(restored, first, NAMESPACES[0]!)
    again.clear()
    expect(again.read()[0]).toBeUndefined()
    select(restored, second, NAMESPACES[0]!)
    expect(again.read()[0]).toBe('2')
  })
})
