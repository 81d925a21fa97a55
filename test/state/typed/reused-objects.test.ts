import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { listState, reducingState, valueState } from '../../../src/state/port/descriptors.ts'
import { Backends, finish, restoreFrom, Segment, select } from '../keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

interface Sum {
  total: number
}

const packed = msgpackSerializer<unknown>()

function valuesOf(segment: Segment): unknown[] {
  return segment.changes.map(({ value }) => packed.read(new ByteReader(value!)))
}

function listsOf(segment: Segment): unknown[] {
  return segment.changes.map(({ value }) => {
    const reader = new ByteReader(value!)
    const elements: unknown[] = []
    while (reader.remaining > 0) elements.push(packed.read(new ByteReader(reader.sized())))
    return elements
  })
}

describe('state of functions that reuse objects', () => {
  it('gives and keeps objects themselves', async () => {
    const backend = await backends.create({ reusesObjects: true })
    const value = backend.value(valueState<Sum>('value'))
    const list = backend.list(listState<Sum>('list'))
    const reduced = backend.reducing(reducingState<Sum>('reduced', (a) => a))
    select(backend, 'k')
    const sum: Sum = { total: 1 }
    value.update(sum)
    list.add(sum)
    reduced.add(sum)
    expect(value.value()).toBe(sum)
    expect(list.get()[0]).toBe(sum)
    expect(reduced.get()).toBe(sum)
  })

  it('gives a list that does not change with the array that was read', async () => {
    const backend = await backends.create({ reusesObjects: true })
    const list = backend.list(listState<Sum>('list'))
    select(backend, 'k')
    list.addAll([{ total: 1 }, { total: 2 }])
    list.get().pop()
    expect(list.get()).toHaveLength(2)
  })

  it.each([false, true])(
    'is in a snapshot as it was at the barrier, however a function changes it then (full: %s)',
    async (full) => {
      const backend = await backends.create({ reusesObjects: true })
      const state = backend.value(valueState<Sum>('value'))
      select(backend, 'k')
      state.update({ total: 1 })
      const segment = new Segment()
      const snapshot = backend.snapshot(1, segment, full)
      const sum = state.value()!
      sum.total = 2
      state.update(sum)
      finish(snapshot)
      expect(valuesOf(segment)).toEqual([{ total: 1 }])
      const next = new Segment()
      finish(backend.snapshot(2, next, false))
      expect(valuesOf(next)).toEqual([{ total: 2 }])
    },
  )

  it('is in a snapshot as it was at the barrier where an element of a list changes', async () => {
    const backend = await backends.create({ reusesObjects: true })
    const state = backend.list(listState<Sum>('list'))
    select(backend, 'k')
    state.add({ total: 1 })
    const segment = new Segment()
    const snapshot = backend.snapshot(1, segment, false)
    const elements = state.get()
    elements[0]!.total = 2
    state.update(elements)
    finish(snapshot)
    expect(listsOf(segment)).toEqual([[{ total: 1 }]])
    const next = new Segment()
    finish(backend.snapshot(2, next, false))
    expect(listsOf(next)).toEqual([[{ total: 2 }]])
  })

  it('is restored, and keeps what it has read', async () => {
    const backend = await backends.create({ reusesObjects: true })
    select(backend, 'k')
    backend.value(valueState<Sum>('value')).update({ total: 1 })
    const segment = new Segment()
    finish(backend.snapshot(1, segment, true))
    const other = await backends.create({ reusesObjects: true })
    restoreFrom(other, backend, [segment])
    const restored = other.value(valueState<Sum>('value'))
    select(other, 'k')
    expect(restored.value()).toEqual({ total: 1 })
    expect(restored.value()).toBe(restored.value())
  })

  it('keeps what is no plain data as bytes', async () => {
    const backend = await backends.create({ reusesObjects: true })
    const state = backend.value(valueState<{ factors: Float32Array }>('factors'))
    select(backend, 'k')
    const stored = { factors: Float32Array.of(1) }
    state.update(stored)
    stored.factors[0] = 2
    expect(state.value()).toEqual({ factors: Float32Array.of(1) })
  })
})
