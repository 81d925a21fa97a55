import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { isWeirError } from '../../../src/core/errors.ts'
import { modelVersion } from '../../../src/core/model-version.ts'
import { valueState, vectorState } from '../../../src/state/port/descriptors.ts'
import type { KeyedStateBackend } from '../../../src/state/port/keyed-state-backend.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import {
  Backends,
  finish,
  restoreFrom,
  Segment,
  select,
  show,
  text,
} from '../keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

const V1 = modelVersion(1)
const ORIGIN = { partition: 0, offset: 7, eventTime: -1 }
const users = vectorState('users', { dimension: 2, keySuffix: '-U', queryableName: 'MODEL' })
const items = vectorState('items', { dimension: 2, keySuffix: '-I', queryableName: 'MODEL' })
const row = (a: number, b: number): Float32Array => Float32Array.of(a, b)

function filled(backend: KeyedStateBackend): void {
  const [u, i] = [backend.vector(users), backend.vector(items)]
  u.put(V1, text('2-U'), row(2, 2), ORIGIN)
  u.put(V1, text('1-U'), row(1, 1), ORIGIN)
  i.put(V1, text('1-I'), row(9, 9), ORIGIN)
}

const codeOf = (call: () => unknown): string => {
  try {
    call()
  } catch (error) {
    return isWeirError(error) ? error.code : String(error)
  }
  return 'nothing was thrown'
}

describe('vector states of a backend', () => {
  it('answer scans of a queryable name that two states share, in key order', async () => {
    const backend = await backends.create({ storeType: 'rocksdb', budget: 1e8 })
    filled(backend)
    const { answers } = backend.answer({
      kind: 'scan',
      id: 1,
      queryableName: 'MODEL',
      version: 1,
      from: text(''),
      to: text('9'),
      limit: 10,
    })
    expect(answers.map(({ key }) => show(key))).toEqual(['1-I', '1-U', '2-U'])
    const keys = [text('1-U'), text('7-U')]
    const rows = (state: string) =>
      backend
        .answer({ kind: 'rows', id: 2, operatorUid: 'operator', state, version: 1, keys })
        .answers.map(({ kind }) => kind)
    expect(rows('users')).toEqual(['found', 'missing'])
    expect(rows('unknown')).toEqual(['unknown-state', 'unknown-state'])
  })

  it('are part of snapshots beside typed state and come back from them', async () => {
    const backend = await backends.create()
    const count = backend.value(valueState<number>('count'))
    filled(backend)
    select(backend, 'a')
    count.update(5)
    const segment = new Segment()
    backend.setSpillSink(segment)
    const snapshot = backend.snapshot(1, segment, false)
    finish(snapshot)
    expect(snapshot.entries).toBe(4)
    const names = new Set(segment.changes.map(({ state }) => state))
    expect(names).toEqual(new Set(['count', 'users@1', 'items@1']))

    const declaredFirst = await backends.create()
    const early = declaredFirst.vector(users)
    restoreFrom(declaredFirst, backend, [segment])
    expect(early.get(V1, text('2-U'))?.vector).toEqual(row(2, 2))
    expect(declaredFirst.vector(items).get(V1, text('1-I'))?.vector).toEqual(row(9, 9))
    expect(declaredFirst.vector(items).get(V1, text('1-I'))?.offset).toBe(7)
  })

  it('leave out restored rows of a version that was dropped', async () => {
    const V2 = modelVersion(2)
    const backend = await backends.create()
    filled(backend)
    backend.vector(users).put(V2, text('1-U'), row(3, 3), ORIGIN)
    const segment = new Segment()
    finish(backend.snapshot(1, segment, false))
    backend.vector(users).dropVersion(V1)
    backend.vector(items).dropVersion(V1)
    for (const isDeclaredFirst of [true, false]) {
      const restored = await backends.create()
      if (isDeclaredFirst) restored.vector(users)
      restoreFrom(restored, backend, [segment])
      expect(restored.vector(users).versions()).toEqual([V2])
      expect(restored.vector(items).versions()).toEqual([])
      expect(restored.vector(users).get(V2, text('1-U'))?.vector).toEqual(row(3, 3))
    }
  })

  it('keep rows that no operator declares for the next full snapshot', async () => {
    const backend = await backends.create()
    filled(backend)
    const segment = new Segment()
    finish(backend.snapshot(1, segment, false))
    const silent = await backends.create()
    restoreFrom(silent, backend, [segment])
    const full = new Segment()
    finish(silent.snapshot(2, full, true))
    const sorted = (s: Segment): string[] =>
      s.changes.map(({ state, key }) => `${state} ${show(key)}`).sort()
    expect(sorted(full)).toEqual(sorted(segment))
  })

  it('stay within the budget together, also when one filled it before the other had a row', async () => {
    const budget = campaignSize(2, 8) * 2 ** 20
    const backend = await backends.create({ storeType: 'rocksdb', budget })
    const wide = { dimension: 100, queryableName: 'WIDE' }
    const [u, i] = [
      backend.vector(vectorState('wide-users', { ...wide, keySuffix: '-U' })),
      backend.vector(vectorState('wide-items', { ...wide, keySuffix: '-I' })),
    ]
    const floats = new Float32Array(100).fill(0.5)
    for (let n = 0; n < campaignSize(8_000, 30_000); n++) u.put(V1, text(`${n}-U`), floats, ORIGIN)
    for (let n = 0; n < campaignSize(2_500, 10_000); n++) i.put(V1, text(`${n}-I`), floats, ORIGIN)
    const bytes = backends.metrics.snapshot()['rowTableBytes']!
    expect(bytes).toBeGreaterThan(budget / 2)
    expect(bytes).toBeLessThanOrEqual(budget)
  })

  it('refuse another dimension and a name that typed state has', async () => {
    const backend = await backends.create()
    backend.vector(users)
    backend.value(valueState<number>('count'))
    expect(codeOf(() => backend.vector({ ...users, dimension: 3 }))).toBe('STATE_CONFLICT')
    expect(codeOf(() => backend.vector({ ...users, name: 'count' }))).toBe('STATE_CONFLICT')
    expect(codeOf(() => backend.value(valueState<number>('users')))).toBe('STATE_CONFLICT')
    const restored = { name: 'users@1', kind: 'vector', format: 'float32[9]' } as const
    expect(codeOf(() => backend.beginRestore([restored]))).toBe('STATE_CONFLICT')
  })
})

describe('a vector state whose versions have rows of different dimensions', () => {
  const memories = vectorState('memories', { dimension: 1, dimensionByVersion: true })
  const V2 = modelVersion(2)

  function twoDimensions(backend: KeyedStateBackend): Segment {
    const state = backend.vector(memories)
    state.openVersion(V1, 3)
    state.openVersion(V2, 2)
    state.put(V1, text('a'), Float32Array.of(1, 2, 3), ORIGIN)
    state.put(V2, text('a'), Float32Array.of(4, 5), ORIGIN)
    const segment = new Segment()
    finish(backend.snapshot(1, segment, false))
    return segment
  }

  it('keeps each in checkpoints, whenever it is declared', async () => {
    const backend = await backends.create()
    const segment = twoDimensions(backend)
    for (const isDeclaredFirst of [true, false]) {
      const restored = await backends.create()
      if (isDeclaredFirst) restored.vector(memories)
      restoreFrom(restored, backend, [segment])
      const state = restored.vector(memories)
      expect([V1, V2].map((version) => state.dimensionOf(version))).toEqual([3, 2])
      expect(state.get(V1, text('a'))?.vector).toEqual(Float32Array.of(1, 2, 3))
      expect(state.get(V2, text('a'))?.vector).toEqual(Float32Array.of(4, 5))
    }
  })

  it('refuses rows of another length, and to open a version with another', async () => {
    const backend = await backends.create()
    twoDimensions(backend)
    const state = backend.vector(memories)
    const put = (): void => state.put(V1, text('b'), Float32Array.of(1, 2), ORIGIN)
    expect(codeOf(put)).toBe('DIMENSION_MISMATCH')
    expect(codeOf(() => state.openVersion(V1, 2))).toBe('DIMENSION_MISMATCH')
    expect(codeOf(() => backend.vector(users).openVersion(V1, 3))).toBe('DIMENSION_MISMATCH')
  })

  it('opens a version with its first row, of any length', async () => {
    const backend = await backends.create()
    const state = backend.vector(memories)
    const bytes = new Uint8Array(Float32Array.of(1, 2, 3).buffer)
    state.putBytes(V1, text('a'), { bytes, start: 0, length: 12 }, ORIGIN)
    state.put(V2, text('a'), Float32Array.of(4, 5), ORIGIN)
    expect([V1, V2].map((version) => state.dimensionOf(version))).toEqual([3, 2])
    expect(state.get(V1, text('a'))?.vector).toEqual(Float32Array.of(1, 2, 3))
    const put = (length: number) => () =>
      state.putBytes(modelVersion(3), text('a'), { bytes, start: 0, length }, ORIGIN)
    expect([0, 5].map((length) => codeOf(put(length)))).toEqual(Array(2).fill('DIMENSION_MISMATCH'))
    expect(state.dimensionOf(modelVersion(3))).toBeUndefined()
    const other = backend.vector(users)
    expect(codeOf(() => other.put(V1, text('b'), Float32Array.of(1), ORIGIN))).toBe(
      'DIMENSION_MISMATCH',
    )
  })

  it.each([2, 3])(
    'does not get back rows of a version that was dropped and opened again with %i floats',
    async (dimension) => {
      const backend = await backends.create()
      const old = twoDimensions(backend)
      const state = backend.vector(memories)
      expect(backend.prefersFull()).toBe(false)
      state.dropVersion(V1)
      state.openVersion(V1, dimension)
      state.put(V1, text('b'), new Float32Array(dimension), ORIGIN)
      expect(backend.prefersFull()).toBe(true)
      const full = new Segment()
      finish(backend.snapshot(2, full, true))
      expect(backend.prefersFull()).toBe(false)
      const restored = await backends.create()
      restoreFrom(restored, backend, [full])
      expect(restored.vector(memories).get(V1, text('a'))).toBeUndefined()
      expect(old.changes).toHaveLength(2)
    },
  )

  it('leaves out what a restore brings of a version that was dropped meanwhile', async () => {
    const backend = await backends.create()
    const segment = twoDimensions(backend)
    const restored = await backends.create()
    const state = restored.vector(memories)
    restored.beginRestore(backend.declarations())
    state.dropVersion(V1)
    state.openVersion(V1, 5)
    for (const { keyGroup, state: name, key, value } of segment.changes) {
      restored.restore(keyGroup, name, key, value)
    }
    restored.endRestore(1)
    expect(state.get(V1, text('a'))).toBeUndefined()
    expect(state.get(V2, text('a'))?.vector).toEqual(Float32Array.of(4, 5))
    expect(restored.prefersFull()).toBe(true)
  })
})
