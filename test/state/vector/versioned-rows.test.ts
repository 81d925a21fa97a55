import { describe, expect, test } from 'vitest'
import type { ModelVersion } from '../../../src/core/model-version.ts'
import { decodeVectorRow, encodeVectorRow } from '../../../src/state/rows/codec.ts'
import { MISSING, RESTORING, SPILLED } from '../../../src/state/rows/reader.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { bytesOf, ListSink, NOWHERE, V1, VectorFixture } from './model.ts'

const keysOf = (sink: ListSink): string[] => sink.changes.map(({ key }) => key).sort()

describe('writing', () => {
  test('a row comes back with what its last write said', () => {
    const { tables } = new VectorFixture()
    const key = bytesOf('1')
    tables.put(V1, key, Float32Array.of(1, 2, 3, 4), NOWHERE)
    const origin = { partition: 3, offset: 2 ** 40, eventTime: 12345 }
    tables.add(V1, key, Float32Array.of(1, 1, 1, 1), origin)
    const row = tables.get(V1, key)!
    expect(row).toMatchObject({ updateCount: 2, ...origin })
    expect([...row.vector]).toEqual([2, 3, 4, 5])
  })

  test('a row is put from bytes, aligned or not', () => {
    const { tables } = new VectorFixture()
    const floats = new Uint8Array(Float32Array.of(1, -2, 3.5, 4).buffer)
    const span = { bytes: Uint8Array.of(7, ...floats, 7), start: 1, length: 16 }
    tables.putBytes(V1, bytesOf('1'), span, NOWHERE)
    expect([...tables.get(V1, bytesOf('1'))!.vector]).toEqual([1, -2, 3.5, 4])
    expect(() => tables.putBytes(V1, bytesOf('1'), { ...span, length: 12 }, NOWHERE)).toThrow(
      expect.objectContaining({ code: 'DIMENSION_MISMATCH' }),
    )
    const wrong = new Uint8Array(Float32Array.of(0, Number.NaN, 0, 0).buffer)
    const refused = { bytes: wrong, start: 0, length: 16 }
    expect(() => tables.putBytes(V1, bytesOf('1'), refused, NOWHERE)).toThrow(
      expect.objectContaining({ code: 'NOT_FINITE' }),
    )
  })

  test('a vector of another length is DIMENSION_MISMATCH', () => {
    const fixture = new VectorFixture()
    expect(() => fixture.put('1', 1, 2)).toThrow(
      expect.objectContaining({ code: 'DIMENSION_MISMATCH' }),
    )
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('%s is NOT_FINITE and changes nothing', (x) => {
    const fixture = new VectorFixture()
    fixture.put('1', 1, 2, 3, 4)
    const expected = expect.objectContaining({ code: 'NOT_FINITE' })
    expect(() => fixture.put('1', 0, x, 0, 0)).toThrow(expected)
    expect(() => fixture.add('1', 0, x, 0, 0)).toThrow(expected)
    expect(fixture.seen('1')).toEqual([1, 2, 3, 4])
  })

  test('a sum that overflows float32 is NOT_FINITE and changes nothing', () => {
    const fixture = new VectorFixture()
    fixture.put('1', 3e38, 0, 0, 0)
    expect(() => fixture.add('1', 3e38, 0, 0, 0)).toThrow(
      expect.objectContaining({ code: 'NOT_FINITE' }),
    )
    expect(fixture.get('1')![0]).toBe(Math.fround(3e38))
  })

  test('a key that is too long is KEY_TOO_LONG', () => {
    const fixture = new VectorFixture()
    expect(() => fixture.put('x'.repeat(65), 1, 2, 3, 4)).toThrow(
      expect.objectContaining({ code: 'KEY_TOO_LONG' }),
    )
    fixture.put('x'.repeat(32), 1, 2, 3, 4)
    expect(fixture.get('x'.repeat(32))).toEqual([1, 2, 3, 4])
  })

  test('a key of another slot is NOT_OWNER', () => {
    const fixture = new VectorFixture({ keyGroups: { first: 0, last: -1 } })
    expect(() => fixture.put('1', 1, 2, 3, 4)).toThrow(
      expect.objectContaining({ code: 'NOT_OWNER' }),
    )
  })

  test('versions are apart, and one is dropped whole', () => {
    const fixture = new VectorFixture()
    const second = 2 as ModelVersion
    fixture.put('1', 1, 0, 0, 0)
    fixture.tables.put(second, bytesOf('1'), Float32Array.of(2, 0, 0, 0), NOWHERE)
    expect(fixture.tables.versions()).toEqual([1, 2])
    fixture.tables.dropVersion(V1)
    expect(fixture.tables.versions()).toEqual([2])
    expect(fixture.get('1')).toBeUndefined()
    expect([...fixture.tables.get(second, bytesOf('1'))!.vector]).toEqual([2, 0, 0, 0])
    expect([...fixture.shares.keys()]).toEqual([2])
  })

  test('many rows are found through every growth of index and memory', () => {
    const fixture = new VectorFixture()
    for (let i = 0; i < 20_000; i++) fixture.put(`key-${i}`, i, 0, 0, 0)
    for (let i = 0; i < 20_000; i += 7) expect(fixture.seen(`key-${i}`)).toEqual([i, 0, 0, 0])
    expect(fixture.seen('key-20000')).toBe(MISSING)
  })
})

describe('snapshots', () => {
  test('hold the rows that changed since the barrier before, as they were at the barrier', () => {
    const fixture = new VectorFixture()
    fixture.put('1', 1, 0, 0, 0)
    fixture.put('2', 2, 0, 0, 0)
    expect(keysOf(fixture.snapshot(1))).toEqual(['1', '2'])
    fixture.put('2', 3, 0, 0, 0)
    const sink = new ListSink()
    const snapshot = fixture.tables.snapshot(2, sink, false)
    fixture.put('2', 4, 0, 0, 0)
    fixture.put('1', 9, 0, 0, 0)
    while (!snapshot.step(1));
    expect(keysOf(sink)).toEqual(['2'])
    expect(new Float32Array(sink.changes[0]!.value!.slice(32).buffer)[0]).toBe(3)
    expect(snapshot.entries).toBe(1)
  })

  test('hold a deletion as a tombstone', () => {
    const fixture = new VectorFixture()
    fixture.put('1', 1, 0, 0, 0)
    fixture.snapshot(1)
    fixture.remove('1')
    expect(fixture.snapshot(2).changes).toEqual([{ state: 'rows@1', key: '1', value: undefined }])
  })

  test('hold everything when full', () => {
    const fixture = new VectorFixture()
    fixture.put('1', 1, 0, 0, 0)
    fixture.put('2', 1, 0, 0, 0)
    fixture.put('3', 1, 0, 0, 0)
    fixture.snapshot(1)
    fixture.remove('3')
    expect(keysOf(fixture.snapshot(2, true))).toEqual(['1', '2'])
  })

  test('a changed row that leaves memory goes to the spill sink, once per change', () => {
    const fixture = new VectorFixture({ spill: true, rowShift: 2, memoryBudgetBytes: 4000 })
    for (let i = 0; i < 60; i++) fixture.put(`${i}`, i, 0, 0, 0)
    const spilled = fixture.spillSink.changes.map(({ key }) => key)
    const snapshot = keysOf(fixture.snapshot(1))
    expect(spilled.length).toBeGreaterThan(20)
    expect([...spilled, ...snapshot].sort()).toEqual(
      Array.from({ length: 60 }, (_, i) => `${i}`).sort(),
    )
    fixture.spillSink.changes.length = 0
    for (let i = 0; i < 60; i++) fixture.get(`${i}`)
    expect(fixture.spillSink.changes).toEqual([])
  })
})

describe('reading at a checkpoint', () => {
  const atBarrier = (fixture: VectorFixture, id: number): void => {
    fixture.snapshot(id)
  }

  test('between barrier and completion both the old and the new one can be read', () => {
    const fixture = new VectorFixture()
    fixture.put('1', 1, 0, 0, 0)
    atBarrier(fixture, 1)
    fixture.tables.checkpointCompleted(1)
    fixture.put('1', 2, 0, 0, 0)
    atBarrier(fixture, 2)
    fixture.put('1', 3, 0, 0, 0)
    expect(fixture.seenAt(1, '1')![0]).toBe(1)
    expect(fixture.seenAt(2, '1')![0]).toBe(2)
    expect(fixture.reader().retains(1) && fixture.reader().retains(2)).toBe(true)
    fixture.tables.checkpointCompleted(2)
    expect(fixture.seenAt(2, '1')![0]).toBe(2)
    expect(fixture.reader().retains(1)).toBe(false)
  })

  test('an aborted checkpoint leaves the completed one readable', () => {
    const fixture = new VectorFixture()
    fixture.put('1', 1, 0, 0, 0)
    atBarrier(fixture, 1)
    fixture.tables.checkpointCompleted(1)
    for (let id = 2; id < 9; id++) {
      fixture.put('1', id, 0, 0, 0)
      atBarrier(fixture, id)
    }
    fixture.put('1', 99, 0, 0, 0)
    expect(fixture.seenAt(1, '1')![0]).toBe(1)
    fixture.tables.checkpointCompleted(8)
    expect(fixture.seenAt(8, '1')![0]).toBe(8)
  })

  test('a row that was written in no interval between needs no image', () => {
    const fixture = new VectorFixture()
    fixture.put('1', 1, 0, 0, 0)
    for (let id = 1; id < 6; id++) {
      atBarrier(fixture, id)
      fixture.tables.checkpointCompleted(id)
    }
    expect(fixture.seenAt(5, '1')![0]).toBe(1)
  })

  test('a row created since is absent, a deleted one is still there until the next completes', () => {
    const fixture = new VectorFixture()
    fixture.put('old', 1, 0, 0, 0)
    atBarrier(fixture, 1)
    fixture.tables.checkpointCompleted(1)
    fixture.put('new', 2, 0, 0, 0)
    fixture.remove('old')
    expect(fixture.seenAt(1, 'new')).toBeUndefined()
    expect(fixture.seenAt(1, 'old')![0]).toBe(1)
    expect(fixture.seen('old')).toBe(MISSING)
    atBarrier(fixture, 2)
    fixture.tables.checkpointCompleted(2)
    expect(fixture.seenAt(2, 'new')![0]).toBe(2)
    expect(fixture.seenAt(2, 'old')).toBeUndefined()
  })

  test('images are freed again, so memory does not grow with checkpoints', () => {
    const fixture = new VectorFixture()
    const round = (id: number): void => {
      for (let i = 0; i < 1000; i++) fixture.put(`${i}`, id, 0, 0, 0)
      atBarrier(fixture, id)
      fixture.tables.checkpointCompleted(id)
      while (!fixture.tables.maintain(1));
    }
    for (let id = 1; id < 4; id++) round(id)
    const bytes = fixture.tables.memoryBytes
    for (let id = 4; id < campaignSize(12, 20); id++) round(id)
    expect(fixture.tables.memoryBytes).toBe(bytes)
  })

  test('a row that changes after each of many aborted checkpoints is still seen at the completed one', () => {
    const fixture = new VectorFixture()
    fixture.put('hot', 1, 0, 0, 0)
    atBarrier(fixture, 1)
    fixture.tables.checkpointCompleted(1)
    const round = (id: number): void => {
      fixture.put('hot', id, 0, 0, 0)
      for (let i = 0; i < 100; i++) fixture.put(`${i}`, id, 0, 0, 0)
      atBarrier(fixture, id)
      while (!fixture.tables.maintain(1));
    }
    for (let id = 2; id < 6; id++) round(id)
    const bytes = fixture.tables.memoryBytes
    for (let id = 6; id < 60; id++) {
      round(id)
      expect(fixture.seenAt(1, 'hot')?.[0], `after checkpoint ${id}`).toBe(1)
    }
    expect(fixture.tables.memoryBytes).toBe(bytes)
  })

  test('deleted rows are freed again', () => {
    const fixture = new VectorFixture()
    let id = 0
    const round = (): void => {
      for (let i = 0; i < 1000; i++) fixture.put(`${i}`, id, 0, 0, 0)
      for (let i = 0; i < 1000; i++) fixture.remove(`${i}`)
      atBarrier(fixture, ++id)
      fixture.tables.checkpointCompleted(id)
    }
    for (let n = 0; n < 4; n++) round()
    const bytes = fixture.tables.memoryBytes
    for (let n = 0; n < 10; n++) round()
    expect(fixture.tables.memoryBytes).toBe(bytes)
  })
})

describe('spilling', () => {
  test('memory stays near the budget, and every row can be read', () => {
    const budget = 300_000
    const fixture = new VectorFixture({ spill: true, rowShift: 4, memoryBudgetBytes: budget })
    for (let i = 0; i < 10_000; i++) fixture.put(`${i}`, i, 0, 0, 0)
    expect(fixture.tables.memoryBytes).toBeLessThan(budget * 1.15)
    expect(fixture.tables.size(V1)).toBe(10_000)
    for (let i = 0; i < 10_000; i += 97) expect(fixture.get(`${i}`)).toEqual([i, 0, 0, 0])
  })

  test('a row in the store is SPILLED for a reader, until the slot brought it in', () => {
    const fixture = new VectorFixture({ spill: true, rowShift: 2, memoryBudgetBytes: 4000 })
    for (let i = 0; i < 60; i++) fixture.put(`${i}`, i, 0, 0, 0)
    const away = Array.from({ length: 60 }, (_, i) => `${i}`).find(
      (key) => fixture.seen(key) === SPILLED,
    )!
    const [answer] = fixture.tables.answerRows(1, [bytesOf(away)], true)
    expect(answer!.kind).toBe('found')
    expect(fixture.seen(away)).toEqual([Number(away), 0, 0, 0])
  })

  test('a row in the store is answered from there, and comes in when it is asked for again', () => {
    const fixture = new VectorFixture({ spill: true, rowShift: 2, memoryBudgetBytes: 4000 })
    for (let i = 0; i < 60; i++) fixture.put(`${i}`, i, 0, 0, 0)
    const away = Array.from({ length: 60 }, (_, i) => `${i}`).find(
      (key) => fixture.seen(key) === SPILLED,
    )!
    const ask = (): readonly number[] => {
      const [answer] = fixture.tables.answerRows(1, [bytesOf(away)])
      return answer!.kind === 'found' ? [...decodeVectorRow(answer!.value, 4).vector] : []
    }
    expect(ask()).toEqual([Number(away), 0, 0, 0])
    expect(fixture.seen(away)).toBe(SPILLED)
    expect(ask()).toEqual([Number(away), 0, 0, 0])
    expect(fixture.seen(away)).toEqual([Number(away), 0, 0, 0])
  })

  test('a row that was deleted after it went to the store is missing', () => {
    const fixture = new VectorFixture({ spill: true, rowShift: 2, memoryBudgetBytes: 4000 })
    for (let i = 0; i < 60; i++) fixture.put(`${i}`, i, 0, 0, 0)
    fixture.tables.remove(V1, bytesOf('7'))
    for (let i = 60; i < 120; i++) fixture.put(`${i}`, i, 0, 0, 0)
    expect(fixture.seen('7')).toBe(SPILLED)
    expect(fixture.tables.answerRows(1, [bytesOf('7')])).toEqual([
      { kind: 'missing', key: bytesOf('7') },
    ])
  })

  test('a dropped version leaves nothing in the store', () => {
    const fixture = new VectorFixture({ spill: true, rowShift: 2, memoryBudgetBytes: 4000 })
    for (let i = 0; i < 600; i++) fixture.put(`${i}`, i, 0, 0, 0)
    fixture.tables.dropVersion(V1)
    while (!fixture.tables.maintain(1));
    const rest = [...fixture.store!.scan(new Uint8Array(0), new Uint8Array(64).fill(255))]
    expect(rest).toEqual([])
  })

  test('pages of stored rows and the rows in memory are all rows', () => {
    const fixture = new VectorFixture({ spill: true, rowShift: 2, memoryBudgetBytes: 4000 })
    for (let i = 0; i < 100; i++) fixture.put(`${i}`, i, 0, 0, 0)
    const seen = new Set(
      Array.from({ length: 100 }, (_, i) => `${i}`).filter(
        (key) => typeof fixture.seen(key) !== 'number',
      ),
    )
    let from = new Uint8Array(0)
    for (;;) {
      const page = fixture.tables.storedPage(1, from, 7)
      for (const { key } of page) seen.add(Buffer.from(key).toString())
      if (page.length < 7) break
      from = new Uint8Array([...page.at(-1)!.key, 0])
    }
    expect(seen.size).toBe(100)
  })
})

describe('restore', () => {
  const encoded = (x: number): Uint8Array =>
    encodeVectorRow(Float32Array.of(x, 0, 0, 0), { partition: 1, offset: 7, eventTime: -1 }, 5)

  test('the first entry of a key wins, deletions too', () => {
    const fixture = new VectorFixture()
    fixture.tables.beginRestore()
    fixture.tables.restoreRow(V1, bytesOf('1'), encoded(1))
    fixture.tables.restoreRow(V1, bytesOf('2'), undefined)
    fixture.tables.restoreRow(V1, bytesOf('1'), encoded(2))
    fixture.tables.restoreRow(V1, bytesOf('2'), encoded(2))
    fixture.tables.endRestore(4)
    expect(fixture.get('1')).toEqual([1, 0, 0, 0])
    expect(fixture.get('2')).toBeUndefined()
    expect(fixture.tables.get(V1, bytesOf('1'))).toMatchObject({ updateCount: 5, offset: 7 })
  })

  test('a restored row is served at once, a missing key is RESTORING until the end', () => {
    const fixture = new VectorFixture()
    fixture.tables.beginRestore()
    fixture.tables.restoreRow(V1, bytesOf('1'), encoded(1))
    expect(fixture.seen('1')).toEqual([1, 0, 0, 0])
    expect(fixture.seen('2')).toBe(RESTORING)
    expect(fixture.tables.answerRows(1, [bytesOf('2')])[0]!.kind).toBe('restoring')
    fixture.tables.endRestore(4)
    expect(fixture.seen('2')).toBe(MISSING)
  })

  test('restored rows are not changes, and are what the restored checkpoint held', () => {
    const fixture = new VectorFixture()
    fixture.tables.beginRestore()
    fixture.tables.restoreRow(V1, bytesOf('1'), encoded(1))
    fixture.tables.restoreRow(V1, bytesOf('2'), encoded(2))
    fixture.tables.endRestore(4)
    fixture.put('1', 9, 0, 0, 0)
    expect(fixture.seenAt(4, '1')![0]).toBe(1)
    expect(keysOf(fixture.snapshot(5))).toEqual(['1'])
  })

  test('a damaged row is MALFORMED_DATA and leaves no half-written row', () => {
    const fixture = new VectorFixture()
    fixture.tables.beginRestore()
    expect(() => fixture.tables.restoreRow(V1, bytesOf('1'), encoded(1).slice(0, 40))).toThrow(
      expect.objectContaining({ code: 'MALFORMED_DATA' }),
    )
    expect(fixture.seen('1')).toBe(RESTORING)
  })
})

describe('the keys of a version', () => {
  test.each([false, true])('are those of its rows, in memory and in the store: %s', (spill) => {
    const { tables } = new VectorFixture({ spill, ...(spill ? { memoryBudgetBytes: 1 } : {}) })
    const expected = Array.from({ length: 700 }, (_, n) => String(n))
    for (const key of expected) tables.put(V1, bytesOf(key), new Float32Array(4), NOWHERE)
    tables.remove(V1, bytesOf('3'))
    const seen = new Set<string>()
    for (const key of tables.keys(V1)) {
      seen.add(Buffer.from(key).toString())
      // Another row comes into memory meanwhile, and some leave it.
      tables.get(V1, bytesOf(String(seen.size % 700)))
    }
    expect([...seen].sort()).toEqual(expected.filter((key) => key !== '3').sort())
    expect([...tables.keys(2 as ModelVersion)]).toEqual([])
  })
})

test('a row that begins again has one update', () => {
  const { tables } = new VectorFixture()
  for (let n = 0; n < 3; n++) tables.put(V1, bytesOf('1'), new Float32Array(4), NOWHERE)
  tables.replace(V1, bytesOf('1'), Float32Array.of(1, 2, 3, 4), NOWHERE)
  expect(tables.get(V1, bytesOf('1'))).toMatchObject({ updateCount: 1 })
  expect([...tables.get(V1, bytesOf('1'))!.vector]).toEqual([1, 2, 3, 4])
  tables.replace(V1, bytesOf('2'), Float32Array.of(5, 6, 7, 8), NOWHERE)
  expect(tables.get(V1, bytesOf('2'))).toMatchObject({ updateCount: 1 })
})
