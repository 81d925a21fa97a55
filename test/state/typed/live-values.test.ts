import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import {
  listState,
  mapState,
  reducingState,
  valueState,
} from '../../../src/state/port/descriptors.ts'
import { Backends, finish, restoreFrom, Segment, select } from '../keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

interface Sum {
  total: number
  parts: number[]
}

function valuesOf(segment: Segment): unknown[] {
  return segment.changes.map(({ value }) =>
    value === undefined ? undefined : msgpackSerializer().read(new ByteReader(value)),
  )
}

describe('objects in typed state', () => {
  it('do not change with an object that was read, or stored, and then changed', async () => {
    const backend = await backends.create({})
    const state = backend.value(valueState<Sum>('sum'))
    select(backend, 'k')
    const stored: Sum = { total: 1, parts: [1] }
    state.update(stored)
    stored.total = 9
    stored.parts.push(9)
    const read = state.value()!
    read.total = 8
    read.parts.push(8)
    expect(state.value()).toEqual({ total: 1, parts: [1] })
  })

  it('do not change with the values of a map or of a reduction', async () => {
    const backend = await backends.create({})
    const map = backend.map(mapState<string, Sum>('map', { keySerializer: stringSerializer }))
    const reduced = backend.reducing(
      reducingState<Sum>('reduced', (a, b) => ({ total: a.total + b.total, parts: [] })),
    )
    select(backend, 'k')
    map.put('a', { total: 1, parts: [] })
    map.get('a')!.total = 9
    for (const [, value] of map.entries()) value.total = 9
    reduced.add({ total: 1, parts: [] })
    reduced.add({ total: 2, parts: [] })
    reduced.get()!.total = 9
    expect(map.get('a')).toEqual({ total: 1, parts: [] })
    expect(reduced.get()).toEqual({ total: 3, parts: [] })
  })

  it('are in a snapshot as they were at the barrier, also when they change in place', async () => {
    const backend = await backends.create({})
    const state = backend.liveValue(valueState<Sum>('sum'))
    select(backend, 'k')
    state.update({ total: 1, parts: [1] })
    const segment = new Segment()
    const snapshot = backend.snapshot(1, segment, false)
    const live = state.valueToChange()!
    live.total = 2
    live.parts.push(2)
    state.update(live)
    finish(snapshot)
    expect(valuesOf(segment)).toEqual([{ total: 1, parts: [1] }])
    const next = new Segment()
    finish(backend.snapshot(2, next, false))
    expect(valuesOf(next)).toEqual([{ total: 2, parts: [1, 2] }])
  })

  it('that no copy is made of are kept as bytes', async () => {
    const backend = await backends.create({})
    const state = backend.liveValue(valueState<{ factors: Float32Array }>('factors'))
    select(backend, 'k')
    state.update({ factors: new Float32Array([1]) })
    const read = state.valueToChange()!
    read.factors[0] = 2
    expect(state.value()).toEqual({ factors: new Float32Array([1]) })
    state.update(read)
    expect(state.value()).toEqual({ factors: new Float32Array([2]) })
  })

  it('of a list are in a snapshot as they were at the barrier, also when the list grows', async () => {
    const backend = await backends.create({})
    const list = backend.list(listState<Sum>('list'))
    select(backend, 'k')
    list.add({ total: 1, parts: [1] })
    const segment = new Segment()
    const snapshot = backend.snapshot(1, segment, false)
    list.add({ total: 2, parts: [] })
    finish(snapshot)
    const restored = await backends.create({})
    restoreFrom(restored, backend, [segment])
    select(restored, 'k')
    expect(restored.list(listState<Sum>('list')).get()).toEqual([{ total: 1, parts: [1] }])
    expect(list.get()).toHaveLength(2)
  })

  it('of lists no longer count as memory when the lists are cleared', async () => {
    const backend = await backends.create({})
    const bytes = (): unknown => backends.metrics.snapshot()['typedStateBytes']
    const list = backend.list(listState<Sum>('list'))
    select(backend, 'k')
    expect(bytes()).toBe(0)
    for (let i = 0; i < 2000; i++) list.add({ total: i, parts: [i] })
    expect(bytes()).toBeGreaterThan(50_000)
    expect(list.get()).toHaveLength(2000)
    list.update([{ total: 1, parts: [] }])
    expect(list.get()).toHaveLength(1)
    list.clear()
    expect(bytes()).toBe(0)
  })
})
