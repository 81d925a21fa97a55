import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { listState } from '../../../src/state/port/descriptors.ts'
import type { LiveListState } from '../../../src/state/port/handles.ts'
import type { KeyedStateBackend } from '../../../src/state/port/keyed-state-backend.ts'
import { decodeTypedValue } from '../../../src/wire/typed-value.ts'
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

interface Bid {
  readonly n: number
  readonly channel: string
}

const WAITING = listState<Bid>('waiting', { queryableName: 'waiting' })
/** So many elements, of which none is read, that those of new lists are packed when they are added. */
const FIRST = 70_000
const LISTS = 100
const LENGTH = 30

const bid = (n: number): Bid => ({ n, channel: `channel ${n % 5}` })
const bidsFrom = (n: number, count = LENGTH): Bid[] =>
  Array.from({ length: count }, (_, i) => bid(n + i))

interface Opened {
  readonly backend: KeyedStateBackend
  readonly list: LiveListState<Bid>
}

/** Appends to the list of a key. */
function add({ backend, list }: Opened, key: string, values: readonly Bid[]): void {
  select(backend, key)
  for (const value of values) list.add(value)
}

/** The elements of a key's list. */
function read({ backend, list }: Opened, key: string): Bid[] {
  select(backend, key)
  return list.get()
}

/** State with lists `k0` to `k99` that nobody has read. */
async function openUnread(reusesObjects = true): Promise<Opened> {
  const backend = await backends.create({ reusesObjects })
  const opened = { backend, list: backend.liveList(WAITING) }
  for (let n = 0; n < FIRST; n += 100) add(opened, `first ${n % 3000}`, bidsFrom(n, 100))
  for (let i = 0; i < LENGTH; i++) {
    for (let key = 0; key < LISTS; key++) add(opened, `k${key}`, [bid(key * 1000 + i)])
  }
  return opened
}

async function restored({ backend }: Opened, segment: Segment): Promise<Opened> {
  const to = await backends.create()
  restoreFrom(to, backend, [segment])
  return { backend: to, list: to.liveList(WAITING) }
}

describe('lists that nobody reads', () => {
  it.each([true, false])(
    'are there when they are read at last, object reuse %s',
    async (reuses) => {
      const opened = await openUnread(reuses)
      for (let key = 0; key < LISTS; key++) {
        expect(read(opened, `k${key}`)).toEqual(bidsFrom(key * 1000))
      }
      add(opened, 'k7', [bid(1)])
      expect(read(opened, 'k7')).toEqual([...bidsFrom(7000), bid(1)])
    },
  )

  it('take less memory, and none once they are cleared', async () => {
    const opened = await openUnread()
    const memory = (): number => Number(backends.metrics.snapshot()['typedStateBytes'])
    const before = memory()
    add(opened, 'new', bidsFrom(0, 10_000))
    // Decoded, an element is counted with more than 100 bytes.
    expect(memory() - before).toBeLessThan(10_000 * 40)
    opened.list.clear()
    expect(memory()).toBe(before)
  })

  it('give the objects themselves from the first read on, where objects are reused', async () => {
    const opened = await openUnread()
    const first = read(opened, 'k3')
    const last = bid(1)
    add(opened, 'k3', [last])
    const second = read(opened, 'k3')
    expect(second).toHaveLength(LENGTH + 1)
    expect(second.every((value, i) => value === [...first, last][i])).toBe(true)
  })

  it('are in a snapshot as they were at the barrier, whatever happens to them before they are written', async () => {
    const opened = await openUnread()
    const { backend, list } = opened
    const segment = new Segment()
    const snapshot = backend.snapshot(1, segment, true)
    for (let key = 0; key < LISTS; key++) {
      select(backend, `k${key}`)
      if (key % 4 === 0) list.clear()
      else if (key % 4 === 1) list.update([bid(key)])
      else if (key % 4 === 2) read(opened, `k${key}`)
      else if (key % 8 === 7) expect(list.take()).toEqual(bidsFrom(key * 1000))
      add(opened, `k${key}`, [bid(5)])
      // Takes the room of what was cleared.
      add(opened, `other ${key}`, bidsFrom(900_000, 200))
    }
    finish(snapshot)
    const to = await restored(opened, segment)
    for (let key = 0; key < LISTS; key++) {
      expect(read(to, `k${key}`)).toEqual(bidsFrom(key * 1000))
      expect(read(to, `other ${key}`)).toEqual([])
    }
    expect(read(opened, 'k4')).toEqual([bid(5)])
    expect(read(opened, 'k5')).toEqual([bid(5), bid(5)])
    expect(read(opened, 'k6')).toEqual([...bidsFrom(6000), bid(5)])
    expect(read(opened, 'k3')).toEqual([...bidsFrom(3000), bid(5)])
    expect(read(opened, 'k7')).toEqual([bid(5)])
  })

  it('become chunks when they are long', async () => {
    const opened = await openUnread()
    add(opened, 'long', bidsFrom(0, 30_000))
    const segment = new Segment()
    finish(opened.backend.snapshot(1, segment, false))
    const isOfLong = ({ key }: { readonly key: Uint8Array }) => show(key).includes('long')
    expect(segment.changes.filter(isOfLong).length).toBeGreaterThan(2)
    expect(read(opened, 'long')).toEqual(bidsFrom(0, 30_000))
    expect(read(await restored(opened, segment), 'long')).toEqual(bidsFrom(0, 30_000))
  })

  it('answer queries', async () => {
    const { backend } = await openUnread()
    const [found] = backend.answer({
      ...{ kind: 'values', id: 1, queryableName: 'waiting' },
      keys: [text('k9')],
    }).answers
    const value = found?.kind === 'found' ? found.value : new Uint8Array(0)
    expect(decodeTypedValue('list', value, {})).toEqual(bidsFrom(9000))
  })

  it('that expire are not packed early, as nothing tells them that they are dropped', async () => {
    const backend = await backends.create({ reusesObjects: true })
    const list = backend.liveList(listState<Bid>('waiting', { ttl: { ttlMs: 1000 } }))
    const opened = { backend, list }
    add(opened, 'first', bidsFrom(0, FIRST))
    const own = bid(1)
    add(opened, 'k', [own])
    expect(read(opened, 'k')[0]).toBe(own)
  })
})
