import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { decodeComposite } from '../../../src/state/port/composite-key.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import type { KeyedStateBackend } from '../../../src/state/port/keyed-state-backend.ts'
import { Backends, finish, Segment, select, show } from '../keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

/** A backend whose entries `k0` to `k(n-1)` are written and belong to checkpoint 1. */
async function opened(
  count: number,
  options: Parameters<Backends['create']>[0] = {},
): Promise<{ backend: KeyedStateBackend; state: ValueState<string>; first: Segment }> {
  const backend = await backends.create(options)
  const first = new Segment()
  backend.setSpillSink(first)
  const state = backend.value(valueState('s', { serializer: stringSerializer }))
  for (let n = 0; n < count; n++) put(backend, state, n, `old ${n}`)
  finish(backend.snapshot(1, first, false))
  return { backend, state, first }
}

function put(
  backend: KeyedStateBackend,
  state: ValueState<string>,
  n: number,
  value: string,
): void {
  select(backend, `k${n}`)
  state.update(value)
}

/** The entries that a restore would take from a segment: the last change of each key. */
function contentOf(segment: Segment): Record<string, string | undefined> {
  const content: Record<string, string | undefined> = {}
  for (const { key, value } of segment.changes) {
    content[show(decodeComposite(key).key)] = value === undefined ? undefined : show(value)
  }
  return content
}

describe('a snapshot of typed state', () => {
  it('holds only what changed since the one before, deletions too', async () => {
    const { backend, state, first } = await opened(3)
    expect(contentOf(first)).toEqual({ k0: 'old 0', k1: 'old 1', k2: 'old 2' })
    put(backend, state, 1, 'new')
    select(backend, 'k2')
    state.clear()
    const second = new Segment()
    finish(backend.snapshot(2, second, false))
    expect(contentOf(second)).toEqual({ k1: 'new', k2: undefined })
    const third = new Segment()
    finish(backend.snapshot(3, third, false))
    expect(third.changes).toEqual([])
  })

  it('holds nothing of an entry that was created and deleted within one interval', async () => {
    const { backend, state } = await opened(1)
    put(backend, state, 9, 'short-lived')
    state.clear()
    const segment = new Segment()
    finish(backend.snapshot(2, segment, false))
    expect(segment.changes).toEqual([])
  })

  it('copies nothing at the barrier and shows no later change', async () => {
    const { backend, state } = await opened(100)
    for (let n = 0; n < 100; n++) put(backend, state, n, `cut ${n}`)
    const segment = new Segment()
    const snapshot = backend.snapshot(2, segment, false)
    expect(segment.changes).toEqual([])
    expect(snapshot.step(0)).toBe(false)
    for (let n = 0; n < 100; n += 2) put(backend, state, n, 'later')
    select(backend, 'k1')
    state.clear()
    put(backend, state, 200, 'later')
    finish(snapshot)
    const expected = Array.from({ length: 100 }, (_, n) => [`k${n}`, `cut ${n}`])
    expect(contentOf(segment)).toEqual(Object.fromEntries(expected))
    expect(snapshot.entries).toBe(100)
    const next = new Segment()
    finish(backend.snapshot(3, next, false))
    expect(Object.keys(contentOf(next))).toHaveLength(52)
  })

  it('that is full holds everything as it was, from memory and store', async () => {
    const { backend, state } = await opened(200, { storeType: 'rocksdb', budget: 80_000 })
    for (let n = 0; n < 50; n++) put(backend, state, n, `cut ${n}`)
    select(backend, 'k60')
    state.clear()
    const segment = new Segment()
    const snapshot = backend.snapshot(2, segment, true)
    backend.setSpillSink(new Segment())
    for (let n = 0; n < 200; n++) {
      snapshot.step(0)
      put(backend, state, (n * 7) % 200, 'later')
      if (n % 5 === 0) state.clear()
    }
    finish(snapshot)
    const content = contentOf(segment)
    for (let n = 0; n < 200; n++) {
      const expected = n === 60 ? undefined : n < 50 ? `cut ${n}` : `old ${n}`
      expect([n, content[`k${n}`]]).toEqual([n, expected])
    }
  })

  it('finishes the one before it if that is still running', async () => {
    const { backend, state } = await opened(100)
    for (let n = 0; n < 100; n++) put(backend, state, n, 'second')
    const second = new Segment()
    backend.snapshot(2, second, false).step(0)
    put(backend, state, 1, 'third')
    const third = new Segment()
    finish(backend.snapshot(3, third, false))
    expect(Object.keys(contentOf(second))).toHaveLength(100)
    expect(contentOf(third)).toEqual({ k1: 'third' })
  })

  it('holds everything after changes left memory that no sink collected', async () => {
    const backend = await backends.create({ storeType: 'rocksdb', budget: 1 })
    const state = backend.value(valueState('s', { serializer: stringSerializer }))
    for (let n = 0; n < 10; n++) put(backend, state, n, `v${n}`)
    const segment = new Segment()
    finish(backend.snapshot(1, segment, false))
    expect(Object.keys(contentOf(segment))).toHaveLength(10)
  })

  it('writes entries that are evicted while it runs to its own segment', async () => {
    const { backend, state } = await opened(100, { storeType: 'rocksdb', budget: 1 })
    for (let n = 0; n < 100; n++) put(backend, state, n, 'cut')
    const collecting = new Segment()
    const segment = new Segment()
    const snapshot = backend.snapshot(2, segment, false)
    backend.setSpillSink(collecting)
    for (let n = 0; n < 100; n++) put(backend, state, n, 'later')
    finish(snapshot)
    expect(Object.values(contentOf(segment)).includes('later')).toBe(false)
    expect(new Set(Object.values(contentOf(collecting)))).toEqual(new Set(['later']))
  })
})
