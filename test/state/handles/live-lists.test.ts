import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { listState } from '../../../src/state/port/descriptors.ts'
import type { LiveListState } from '../../../src/state/port/handles.ts'
import type { KeyedStateBackend } from '../../../src/state/port/keyed-state-backend.ts'
import { Backends, finish, restoreFrom, Segment, select } from '../keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

interface Numbered {
  readonly n: number
}

const LIST = listState<Numbered>('list')
/** More than a list keeps decoded. */
const MANY = 3000
/** Elements that become chunks of a list. */
const LARGE = 30_000

const numbers = (count: number, from = 0): Numbered[] =>
  Array.from({ length: count }, (_, i) => ({ n: from + i }))

async function listOf(
  count: number,
  options: Parameters<Backends['create']>[0] = {},
): Promise<{ readonly backend: KeyedStateBackend; readonly list: LiveListState<Numbered> }> {
  const backend = await backends.create(options)
  const list = backend.liveList(LIST)
  select(backend, 'k')
  for (const each of numbers(count)) list.append(each)
  return { backend, list }
}

/** What a restore finds in the list. */
async function restored(
  source: KeyedStateBackend,
  segments: readonly Segment[],
): Promise<Numbered[]> {
  const backend = await backends.create({})
  restoreFrom(backend, source, segments)
  const list = backend.liveList(LIST)
  select(backend, 'k')
  return list.get()
}

describe('the elements of a live list', () => {
  it('are looked at without copies where they are decoded', async () => {
    const { list } = await listOf(3)
    expect(list.elements()).toEqual(numbers(3))
    expect(list.elements()[1]).toBe(list.elements()[1])
    expect(list.get()[1]).not.toBe(list.elements()[1])
    expect([list.shares, (await listOf(1, { reusesObjects: true })).list.shares]).toEqual([
      false,
      true,
    ])
  })

  it.each([3, MANY, LARGE])(
    'are looked at however long the list is (%s elements)',
    async (count) => {
      for (const storeType of ['heap', 'rocksdb'] as const) {
        const { list } = await listOf(count, { storeType, budget: 1024 * 1024 })
        expect(list.elements()).toEqual(numbers(count))
      }
    },
  )

  it.each([3, 200, MANY, LARGE])(
    'that stay are kept, the others are gone soon (%s elements)',
    async (count) => {
      for (const isStored of [false, true]) {
        const { backend, list } = await listOf(count)
        const segments: Segment[] = []
        if (isStored) {
          segments.push(new Segment())
          finish(backend.snapshot(1, segments[0]!, true))
        }
        const before = list.elements()
        list.retain(({ n }) => n >= count / 2 + 1)
        const left = numbers(count).slice(Math.ceil(count / 2 + 1))
        expect(list.get()).toEqual(left)
        expect(before).toEqual(numbers(count))
        list.append({ n: -1 })
        segments.push(new Segment())
        finish(backend.snapshot(2, segments.at(-1)!, !isStored))
        expect(await restored(backend, segments)).toEqual([...left, { n: -1 }])
        list.retain(() => false)
        expect(list.get()).toEqual([])
        expect(list.append({ n: -2 })).toBe(true)
      }
    },
  )

  it('that a snapshot in progress has are those from before', async () => {
    const { backend, list } = await listOf(5)
    const segment = new Segment()
    const running = backend.snapshot(1, segment, true)
    list.retain(({ n }) => n > 3)
    finish(running)
    expect(list.get()).toEqual([{ n: 4 }])
    expect(await restored(backend, [segment])).toEqual(numbers(5))
  })

  it('may be there where some key has a list, which is not asked of each key', async () => {
    const backend = await backends.create({})
    const list = backend.liveList(LIST)
    select(backend, 'k')
    expect(list.hasEntries()).toBe(false)
    list.retain(() => false)
    list.append({ n: 1 })
    select(backend, 'other')
    expect(list.hasEntries()).toBe(true)
  })
})

describe('the last elements of a live list', () => {
  /** Numbers the last 50 elements, as a function may that changes each of them. */
  const fold = (list: LiveListState<Numbered>): readonly number[] | undefined =>
    list.foldLast<readonly number[]>(50, (element, before = []) => {
      const { n } = element
      ;(element as { n: number }).n = -1
      return [...before, n]
    })
  const last = (count: number): number[] =>
    numbers(count)
      .slice(-50)
      .map(({ n }) => n)

  it.each([3, 99, 150, MANY, LARGE])(
    'are folded as copies, and those before them leave (%s elements)',
    async (count) => {
      const { list } = await listOf(count)
      expect(fold(list)).toEqual(last(count))
      expect(fold(list)).toEqual(last(count))
      expect(list.get()).toEqual(count < 100 ? numbers(count) : numbers(50, count - 50))
    },
  )

  it('are folded from a store and with objects that are reused, too', async () => {
    const { list } = await listOf(60, { storeType: 'rocksdb' })
    expect(fold(list)).toEqual(last(60))
    const { list: shared } = await listOf(60, { reusesObjects: true })
    expect(shared.foldLast<number>(50, ({ n }, sum = 0) => sum + n)).toBe(
      last(60).reduce((a, b) => a + b),
    )
  })

  it('that are none fold to nothing', async () => {
    expect(fold((await listOf(0)).list)).toBeUndefined()
  })

  it('that a snapshot in progress has are those from before', async () => {
    const { backend, list } = await listOf(150)
    const segment = new Segment()
    const running = backend.snapshot(1, segment, true)
    expect(fold(list)).toEqual(last(150))
    finish(running)
    expect(await restored(backend, [segment])).toEqual(numbers(150))
  })
})
