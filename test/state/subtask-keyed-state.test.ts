import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { isWeirError } from '../../src/core/errors.ts'
import { keyGroupOf } from '../../src/core/key-group.ts'
import { modelVersion } from '../../src/core/model-version.ts'
import { float64Serializer, int53Serializer, stringSerializer } from '../../src/core/serializer.ts'
import { encodePrefix } from '../../src/state/port/composite-key.ts'
import {
  aggregatingState,
  listState,
  mapState,
  reducingState,
  valueState,
  vectorState,
} from '../../src/state/port/descriptors.ts'
import type { KeyedStateBackend } from '../../src/state/port/keyed-state-backend.ts'
import type { StateStoreType } from '../../src/state/store/state-store.ts'
import {
  Backends,
  feed,
  finish,
  restoreFrom,
  Segment,
  select,
  text,
} from './keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

const codeOf = (call: () => unknown): string => {
  try {
    call()
  } catch (error) {
    return isWeirError(error) ? error.code : String(error)
  }
  return 'nothing was thrown'
}

/** The smallest budget: every entry leaves memory as soon as it may. */
const TINY = 1

describe.each<{ storeType: StateStoreType; budget: number }>([
  { storeType: 'heap', budget: TINY },
  { storeType: 'rocksdb', budget: TINY },
  { storeType: 'rocksdb', budget: 1e8 },
  { storeType: 'leveldb', budget: TINY },
])('keyed state on $storeType with a budget of $budget bytes', ({ storeType, budget }) => {
  const open = (): Promise<KeyedStateBackend> => backends.create({ storeType, budget })

  it('keeps one value per key and namespace', async () => {
    const backend = await open()
    const count = backend.value(valueState<number>('count', { serializer: float64Serializer }))
    select(backend, 'a')
    expect(count.value()).toBeUndefined()
    count.update(1)
    backend.setCurrentNamespace(text('window'))
    expect(count.value()).toBeUndefined()
    count.update(2)
    select(backend, 'b')
    count.update(3)
    backend.setCurrentNamespace(new Uint8Array(0))
    expect(count.value()).toBeUndefined()
    select(backend, 'a')
    expect(count.value()).toBe(1)
    count.clear()
    expect(count.value()).toBeUndefined()
    backend.setCurrentNamespace(text('window'))
    expect(count.value()).toBe(2)
  })

  it('returns values that the caller owns: changing one changes no state', async () => {
    const backend = await open()
    const state = backend.value(valueState<{ list: number[] }>('object'))
    select(backend, 'a')
    const given = { list: [1] }
    state.update(given)
    given.list.push(2)
    state.value()!.list.push(3)
    expect(state.value()).toEqual({ list: [1] })
  })

  it('appends to lists and replaces them', async () => {
    const backend = await open()
    const list = backend.list(listState<string>('list', { serializer: stringSerializer }))
    select(backend, 'a')
    expect(list.get()).toEqual([])
    list.add('x')
    list.addAll(['y', ''])
    select(backend, 'b')
    list.addAll([])
    expect(list.get()).toEqual([])
    select(backend, 'a')
    list.add('z')
    expect(list.get()).toEqual(['x', 'y', '', 'z'])
    list.update(['only'])
    expect(list.get()).toEqual(['only'])
    list.update([])
    expect(list.get()).toEqual([])
    list.add('again')
    list.clear()
    expect(list.get()).toEqual([])
  })

  it('iterates maps in the order of the map keys within key and namespace', async () => {
    const backend = await open()
    const map = backend.map(
      mapState<string, number>('map', {
        keySerializer: stringSerializer,
        serializer: int53Serializer,
      }),
    )
    select(backend, 'a')
    expect(map.isEmpty()).toBe(true)
    map.putAll(['m', 'b', 'zz', 'a', 'm\0', ''].map((key) => [key, key.length]))
    select(backend, 'a\0')
    map.put('other', 9)
    select(backend, 'a')
    map.remove('b')
    map.put('m', 7)
    expect([...map.entries()]).toEqual([
      ['', 0],
      ['a', 1],
      ['m', 7],
      ['m\0', 2],
      ['zz', 2],
    ])
    expect([...map.keys()]).toEqual(['', 'a', 'm', 'm\0', 'zz'])
    expect([...map.values()]).toEqual([0, 1, 7, 2, 2])
    expect([map.has('b'), map.has('a'), map.get('zz'), map.get('none')]).toEqual([
      false,
      true,
      2,
      undefined,
    ])
    expect(map.isEmpty()).toBe(false)
    map.clear()
    expect([...map.entries()]).toEqual([])
    expect(map.isEmpty()).toBe(true)
    select(backend, 'a\0')
    expect([...map.entries()]).toEqual([['other', 9]])
  })

  it('reduces and aggregates what is added', async () => {
    const backend = await open()
    const sum = backend.reducing(reducingState<number>('sum', (a, b) => a + b))
    const mean = backend.aggregating(
      aggregatingState<number, { sum: number; n: number }, { mean: number }>('mean', {
        createAccumulator: () => ({ sum: 0, n: 0 }),
        add(value, accumulator) {
          accumulator.sum += value
          accumulator.n += 1
          return accumulator
        },
        getResult: ({ sum: total, n }) => ({ mean: total / n }),
        merge: (a, b) => ({ sum: a.sum + b.sum, n: a.n + b.n }),
      }),
    )
    select(backend, 'a')
    expect([sum.get(), mean.get()]).toEqual([undefined, undefined])
    for (const value of [1, 2, 6]) {
      select(backend, 'b')
      sum.add(100)
      select(backend, 'a')
      sum.add(value)
      mean.add(value)
    }
    expect([sum.get(), mean.get()]).toEqual([9, { mean: 3 }])
    sum.clear()
    mean.clear()
    expect([sum.get(), mean.get()]).toEqual([undefined, undefined])
    select(backend, 'b')
    expect(sum.get()).toBe(300)
  })

  it('restores every kind of state from a snapshot', async () => {
    const backend = await open()
    const declare = (target: KeyedStateBackend) => ({
      value: target.value(valueState<string>('value')),
      list: target.list(listState<number>('list')),
      map: target.map(mapState<string, number>('map')),
      timers: target.timers('timers'),
    })
    const written = declare(backend)
    for (const key of ['a', 'b', 'c']) {
      select(backend, key)
      written.value.update(`of ${key}`)
      written.list.addAll([1, 2])
      written.map.put('k', 1)
      written.map.put('l', 2)
      written.timers.register(key.charCodeAt(0))
    }
    const segment = new Segment()
    finish(backend.snapshot(1, segment, false))
    const restored = await open()
    restoreFrom(restored, backend, [segment])
    const read = declare(restored)
    for (const key of ['a', 'b', 'c']) {
      select(restored, key)
      expect(read.value.value()).toBe(`of ${key}`)
      read.list.add(3)
      expect(read.list.get()).toEqual([1, 2, 3])
      expect([...read.map.entries()]).toEqual([
        ['k', 1],
        ['l', 2],
      ])
    }
    expect(read.timers.peek()).toBe('a'.charCodeAt(0))
    expect(read.timers.poll(1000)?.key).toEqual(text('a'))
  })

  it('answers values and scans for query threads', async () => {
    const backend = await open()
    const state = backend.value(
      valueState<number>('count', { serializer: float64Serializer, queryableName: 'counts' }),
    )
    for (const [n, key] of ['b', 'a', 'ab', 'c', 'a\0'].entries()) {
      select(backend, key)
      state.update(n)
      backend.setCurrentNamespace(text('hidden'))
      state.update(99)
      backend.setCurrentNamespace(new Uint8Array(0))
    }
    const keys = [text('ab'), text('missing')]
    const { answers } = backend.answer({ kind: 'values', id: 7, queryableName: 'counts', keys })
    expect(answers.map((answer) => answer.kind)).toEqual(['found', 'missing'])
    const encoded = answers[0]?.kind === 'found' ? answers[0].value : new Uint8Array(0)
    expect(new DataView(encoded.slice().buffer).getFloat64(0, true)).toBe(2)
    const scan = (from: string, to: string, limit: number): string[] =>
      backend
        .answer({
          kind: 'scan',
          id: 8,
          queryableName: 'counts',
          version: 0,
          from: text(from),
          to: text(to),
          limit,
        })
        .answers.map(({ key }) => new TextDecoder().decode(key))
    expect(scan('', 'z', 10)).toEqual(['a', 'a\0', 'ab', 'b', 'c'])
    expect(scan('a\0', 'b', 10)).toEqual(['a\0', 'ab'])
    expect(scan('', 'z', 2)).toEqual(['a', 'a\0'])
    // Pages that follow share what one pass found; keys that came or went meanwhile count.
    select(backend, 'aa')
    state.update(5)
    select(backend, 'ab')
    state.clear()
    expect(scan('a\0', 'z', 2)).toEqual(['a\0', 'aa'])
    expect(scan('aa\0', 'z', 10)).toEqual(['b', 'c'])
    const unknown = backend.answer({ kind: 'values', id: 9, queryableName: 'unknown', keys })
    expect(unknown.answers[0]?.kind).toBe('unknown-state')
  })
})

describe('the pages of a scan of typed state', () => {
  const KEYS = 5_000

  async function filled() {
    const backend = await backends.create()
    const state = backend.value(
      valueState<number>('count', { serializer: float64Serializer, queryableName: 'counts' }),
    )
    for (let n = 0; n < KEYS; n++) {
      select(backend, `k${String(n).padStart(5, '0')}`)
      state.update(n)
    }
    return backend
  }

  /** Steps of one page, and its answer. */
  function page(backend: KeyedStateBackend, from: string, limit: number) {
    const request = { kind: 'scan', id: 1, queryableName: 'counts', version: 0 } as const
    const steps = backend.answerInSteps({ ...request, from: text(from), to: text('z'), limit })
    for (let count = 1; ; count++) {
      const step = steps.next()
      if (step.done === true) return { count, answers: step.value.answers }
    }
  }

  it('read the entries once for many pages', async () => {
    const backend = await filled()
    const first = page(backend, '', 10)
    const second = page(backend, 'k00010', 10)
    // A pass over 5,000 entries has about twenty steps; each of ten values is one.
    expect(first.count).toBeGreaterThan(25)
    expect(second.count).toBeLessThanOrEqual(12)
    expect(second.answers[0]?.key).toEqual(text('k00010'))
  })

  it('have every key once, across the ends of windows', async () => {
    const backend = await filled()
    const seen: string[] = []
    let from = ''
    for (;;) {
      const { answers } = page(backend, from, 300)
      for (const { key } of answers) seen.push(Buffer.from(key).toString())
      if (answers.length === 0) break
      from = `${seen.at(-1)}\0`
    }
    expect(seen).toHaveLength(KEYS)
    expect(seen).toEqual(seen.toSorted())
  })
})

describe('declarations of keyed state', () => {
  it('refuses a state of another kind or format under the same name', async () => {
    const backend = await backends.create()
    backend.value(valueState<number>('state', { serializer: float64Serializer }))
    expect(codeOf(() => backend.list(listState<number>('state')))).toBe('STATE_CONFLICT')
    expect(codeOf(() => backend.value(valueState<number>('state')))).toBe('STATE_CONFLICT')
    const other = backend.value(valueState<number>('state', { serializer: float64Serializer }))
    select(backend, 'a')
    other.update(1)
    expect(other.value()).toBe(1)
  })

  it('refuses a restored state whose format differs, whichever comes first', async () => {
    const declaration = { name: 'state', kind: 'value', format: 'string/1' } as const
    const first = await backends.create()
    first.value(valueState<number>('state', { serializer: float64Serializer }))
    expect(codeOf(() => first.beginRestore([declaration]))).toBe('STATE_CONFLICT')
    const second = await backends.create()
    second.beginRestore([declaration])
    select(second, 'a')
    const key = encodePrefix(second.currentKey(), new Uint8Array(0))
    second.value(valueState<number>('state', { serializer: float64Serializer }))
    const group = keyGroupOf(text('a'), second.maxParallelism)
    const restore = (): void => second.restore(group, 'state', key, Uint8Array.of(0x61))
    expect(codeOf(restore)).toBe('STATE_CONFLICT')
  })

  it('writes everything once after a state got a time to live that the checkpoint did not have', async () => {
    const backend = await backends.create()
    backend.beginRestore([{ name: 'state', kind: 'value', format: 'msgpack/1' }])
    backend.value(valueState<number>('state', { ttl: { ttlMs: 1000 } }))
    backend.endRestore(1)
    expect(backend.prefersFull()).toBe(true)
    finish(backend.snapshot(2, new Segment(), true))
    expect(backend.prefersFull()).toBe(false)
    expect(backend.declarations()).toEqual([
      { name: 'state', kind: 'value', format: 'msgpack/1+ttl' },
    ])
  })

  it('keeps restored state that no operator declares for the next full snapshot', async () => {
    const backend = await backends.create()
    backend.value(valueState<string>('kept'))
    select(backend, 'a')
    backend.value(valueState<string>('kept')).update('x')
    const segment = new Segment()
    finish(backend.snapshot(1, segment, false))
    const silent = await backends.create()
    restoreFrom(silent, backend, [segment])
    const full = new Segment()
    finish(silent.snapshot(2, full, true))
    expect(full.changes).toEqual(segment.changes)
    expect(silent.declarations()).toEqual(backend.declarations())
  })

  it('drops restored states that no operator has declared, for good: the next snapshot is full', async () => {
    const source = await backends.create()
    const [kept, left] = ['kept', 'left'].map((name) => source.value(valueState<string>(name)))
    const rows = source.vector(vectorState('rows', { dimension: 2 }))
    select(source, 'a')
    kept!.update('x')
    left!.update('y')
    rows.put(modelVersion(1), text('a'), Float32Array.of(1, 2), {
      partition: 0,
      offset: 0,
      eventTime: -1,
    })
    const segment = new Segment()
    finish(source.snapshot(1, segment, false))
    const backend = await backends.create()
    backend.beginRestore(source.declarations())
    backend.value(valueState<string>('kept'))
    backend.dropUndeclared()
    feed(backend, [segment])
    backend.endRestore(1)
    const bytesOf = (state: string): number =>
      segment.changes
        .filter((change) => change.state === state)
        .reduce((sum, { key, value }) => sum + key.length + value!.length, 0)
    expect(backend.droppedEntries()).toEqual([
      { state: 'left', bytes: bytesOf('left') },
      { state: 'rows', bytes: bytesOf('rows@1') },
    ])
    expect(backend.unclaimedStates()).toEqual([])
    expect(backend.declarations().map(({ name }) => name)).toEqual(['kept'])
    expect(backend.prefersFull()).toBe(true)
    const full = new Segment()
    finish(backend.snapshot(2, full, true))
    expect(full.changes.map(({ state }) => state)).toEqual(['kept'])
    expect(backend.prefersFull()).toBe(false)
    select(backend, 'a')
    const declaredLate = backend.value(
      valueState<number>('left', { serializer: float64Serializer }),
    )
    expect(declaredLate.value()).toBeUndefined()
  })

  it('reports each queryable state once, before its row tables open', async () => {
    const backend = await backends.create()
    for (let n = 0; n < 2; n++) {
      backend.value(valueState<number>('private'))
      backend.value(valueState<number>('count', { queryableName: 'counts' }))
    }
    backend.beginRestore([{ name: 'rows@1', kind: 'vector', format: 'float32[2]' }])
    for (let n = 0; n < 2; n++) {
      backend.vector(vectorState('rows', { dimension: 2, queryableName: 'MODEL' }))
    }
    expect(backends.events).toEqual(['count declared', 'rows declared', 'rows@1 opened'])
  })

  it('answers RESTORING until the restore ends, then that the key is missing', async () => {
    const backend = await backends.create()
    backend.value(valueState<number>('count', { queryableName: 'counts' }))
    backend.beginRestore([])
    const ask = (): string | undefined =>
      backend.answer({ kind: 'values', id: 1, queryableName: 'counts', keys: [text('a')] })
        .answers[0]?.kind
    expect(ask()).toBe('restoring')
    backend.endRestore(1)
    expect(ask()).toBe('missing')
  })

  it('ignores entries of key groups that it does not own', async () => {
    const source = await backends.create()
    const state = source.value(valueState<number>('count'))
    for (let i = 0; i < 50; i++) {
      select(source, `k${i}`)
      state.update(i)
    }
    const segment = new Segment()
    finish(source.snapshot(1, segment, false))
    const part = await backends.create({ keyGroups: { first: 0, last: 3 } })
    restoreFrom(part, source, [segment])
    const kept = new Segment()
    finish(part.snapshot(2, kept, true))
    const expected = segment.changes.filter((change) => change.keyGroup <= 3)
    expect(kept.changes).toHaveLength(expected.length)
    expect(expected.length).toBeGreaterThan(0)
  })

  it('refuses work after close', async () => {
    const backend = await backends.create()
    backend.close()
    backend.close()
    expect(codeOf(() => backend.value(valueState<number>('late')))).toBe('ILLEGAL_STATE')
    expect(codeOf(() => backend.snapshot(1, new Segment(), false))).toBe('ILLEGAL_STATE')
  })
})
