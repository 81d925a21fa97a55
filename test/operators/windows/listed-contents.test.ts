import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { ListedContents } from '../../../src/operators/windows/contents.ts'
import { listState, valueState } from '../../../src/state/port/descriptors.ts'
import { Backends, finish, restoreFrom, Segment, select } from '../../state/keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

const WINDOW = Uint8Array.of(1)

describe('the records of a window', () => {
  it('begin with the first one, and are none when they were cleared', async () => {
    const backend = await backends.create({})
    const contents = new ListedContents<number>(msgpackSerializer())
    contents.open(backend)
    select(backend, 'k')
    backend.setCurrentNamespace(WINDOW)
    expect(contents.read()).toBeUndefined()
    expect([contents.add(1), contents.add(2)]).toEqual([true, false])
    expect(contents.read()).toEqual([1, 2])
    contents.clear()
    expect(contents.read()).toBeUndefined()
    expect(contents.add(3)).toBe(true)
  })

  it('are gone when they were taken, for which a snapshot in progress has them', async () => {
    for (const reusesObjects of [false, true]) {
      const backend = await backends.create({ reusesObjects })
      const contents = new ListedContents<unknown>(msgpackSerializer())
      contents.open(backend)
      const records = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? { n } : n))
      const at = (key: string): void => {
        select(backend, key)
        backend.setCurrentNamespace(WINDOW)
      }
      for (const key of ['short', 'long']) {
        at(key)
        for (const record of key === 'long' ? records : records.slice(0, 3)) contents.add(record)
      }
      const segment = new Segment()
      const running = backend.snapshot(1, segment, false)
      at('short')
      expect(contents.take()).toEqual(records.slice(0, 3))
      at('long')
      expect(contents.take()).toEqual(records)
      expect([contents.take(), contents.read()]).toEqual([undefined, undefined])
      expect(contents.add('new')).toBe(true)
      finish(running)
      const restored = await backends.create({ reusesObjects })
      restoreFrom(restored, backend, [segment])
      const again = new ListedContents<unknown>(msgpackSerializer())
      again.open(restored)
      select(restored, 'long')
      restored.setCurrentNamespace(WINDOW)
      expect(again.take()).toEqual(records)
      expect(again.read()).toBeUndefined()
    }
  })

  it('are read from savepoints that mark windows with records, and leave no mark behind', async () => {
    const before = await backends.create({})
    select(before, 'k')
    before.setCurrentNamespace(WINDOW)
    before.list(listState<number>('window-contents')).add(1)
    before.value(valueState<number>('window-filled')).update(1)
    const savepoint = new Segment()
    finish(before.snapshot(1, savepoint, true))
    const backend = await backends.create({})
    restoreFrom(backend, before, [savepoint])
    const contents = new ListedContents<number>(msgpackSerializer())
    contents.open(backend)
    expect(backend.unclaimedStates()).toEqual([])
    select(backend, 'k')
    backend.setCurrentNamespace(WINDOW)
    expect(contents.add(2)).toBe(false)
    expect(contents.read()).toEqual([1, 2])
    contents.clear()
    const next = new Segment()
    finish(backend.snapshot(2, next, false))
    expect(next.changes.map(({ state, value }) => [state, value])).toEqual([
      ['window-contents', undefined],
      ['window-filled', undefined],
    ])
  })
})
