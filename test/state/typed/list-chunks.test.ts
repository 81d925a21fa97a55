import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { type ListStateDescriptor, listState } from '../../../src/state/port/descriptors.ts'
import type { KeyedStateBackend } from '../../../src/state/port/keyed-state-backend.ts'
import { decodeTypedValue } from '../../../src/wire/typed-value.ts'
import {
  Backends,
  finish,
  MAX_PARALLELISM,
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
  readonly text: string
}

const LIST: ListStateDescriptor<Bid> = listState<Bid>('bids', { queryableName: 'bids' })
const bid = (n: number): Bid => ({ n, text: 'as good as new '.repeat(8) })
const bids = (count: number): Bid[] => Array.from({ length: count }, (_, n) => bid(n))

const PLACES = [
  { place: 'on the heap', storeType: 'heap', budget: 0, many: 3000 },
  { place: 'in memory above a store', storeType: 'rocksdb', budget: 10_000_000, many: 300 },
  { place: 'in a store', storeType: 'rocksdb', budget: 1, many: 300 },
] as const

async function open(options: {
  readonly storeType: 'heap' | 'rocksdb'
  readonly budget: number
}): Promise<KeyedStateBackend> {
  const backend = await backends.create(options)
  backend.setSpillSink(new Segment())
  return backend
}

function bytesOf({ changes }: Segment): number {
  return changes.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
}

/** A snapshot of what changed since the last one; `collecting` got what left memory. */
function snapshot(backend: KeyedStateBackend, collecting: Segment, full = false): Segment {
  finish(backend.snapshot(1, collecting, full))
  return collecting
}

describe.each(PLACES)('a long list $place', ({ storeType, budget, many }) => {
  it('has all its elements in their order', async () => {
    const backend = await open({ storeType, budget })
    const list = backend.list(LIST)
    for (let n = 0; n < many; n++) {
      select(backend, `k${n % 2}`)
      list.add(bid(n))
    }
    select(backend, 'k1')
    expect(list.get()).toEqual(bids(many).filter(({ n }) => n % 2 === 1))
    list.addAll([bid(1), bid(2)])
    expect(list.get().slice(-2)).toEqual([bid(1), bid(2)])
    list.update([bid(5)])
    list.add(bid(6))
    expect(list.get()).toEqual([bid(5), bid(6)])
    select(backend, 'k0')
    expect(list.get()).toHaveLength(many / 2)
    list.clear()
    expect(list.get()).toEqual([])
    const live = backend.liveList(LIST)
    live.addAll(bids(many))
    expect(live.take()).toEqual(bids(many))
    expect([live.take(), list.get()]).toEqual([[], []])
    list.add(bid(9))
    expect(list.get()).toEqual([bid(9)])
  })

  it('costs a checkpoint no more than a short one for what is appended', async () => {
    const backend = await open({ storeType, budget })
    const list = backend.list(LIST)
    const collecting = new Segment()
    backend.setSpillSink(collecting)
    select(backend, 'k')
    for (let n = 0; n < many; n++) list.add(bid(n))
    const first = snapshot(backend, collecting)
    const next = new Segment()
    backend.setSpillSink(next)
    select(backend, 'k')
    list.add(bid(many))
    const second = snapshot(backend, next)
    expect(bytesOf(second)).toBeLessThan(bytesOf(first) / 2)
    expect(list.get()).toHaveLength(many + 1)
  })

  it('is in a snapshot as it was at the barrier, and is restored anywhere', async () => {
    const backend = await open({ storeType, budget })
    const list = backend.list(LIST)
    select(backend, 'k')
    for (let n = 0; n < many; n++) list.add(bid(n))
    const segment = new Segment()
    const copy = backend.snapshot(1, segment, true)
    for (let n = many; n < 2 * many; n++) list.add(bid(n))
    finish(copy)
    for (const to of PLACES) {
      const restored = await open(to)
      restoreFrom(restored, backend, [segment])
      select(restored, 'k')
      const read = restored.list(LIST)
      expect(read.get()).toEqual(bids(many))
      read.add(bid(many))
      expect(read.get()).toEqual(bids(many + 1))
    }
  })

  it('leaves nothing in a full snapshot once it is cleared', async () => {
    const backend = await open({ storeType, budget })
    const list = backend.list(LIST)
    for (let round = 0; round < 2; round++) {
      select(backend, 'k')
      for (let n = 0; n < many; n++) list.add(bid(n))
      snapshot(backend, new Segment())
      select(backend, 'k')
      if (round === 0) list.clear()
      else list.update([])
    }
    const { changes } = snapshot(backend, new Segment(), true)
    expect(changes.filter(({ value }) => value !== undefined)).toEqual([])
  })

  it('is one value and one key for queries', async () => {
    const backend = await open({ storeType, budget })
    const list = backend.list(LIST)
    for (const key of ['a', 'b', 'c']) {
      select(backend, key)
      for (let n = 0; n < many; n++) list.add(bid(n))
    }
    const found = backend.answer({
      ...{ kind: 'values', id: 1, queryableName: 'bids' },
      keys: [text('b')],
    }).answers[0]
    const value = found?.kind === 'found' ? found.value : new Uint8Array(0)
    expect(decodeTypedValue('list', value, {})).toEqual(bids(many))
    const scanned: string[] = []
    let from: Uint8Array | undefined = text('')
    while (from !== undefined) {
      const page = backend.answer({
        ...{ kind: 'scan', id: 2, queryableName: 'bids', version: 0 },
        ...{ from, to: text('z'), limit: 2 },
      })
      for (const answer of page.answers) {
        scanned.push(show(answer.key))
        if (answer.kind === 'found')
          expect(decodeTypedValue('list', answer.value, {})).toEqual(bids(many))
      }
      from = page.resume
    }
    expect(scanned).toEqual(['a', 'b', 'c'])
    expect(backend.keysOf(LIST).map(show).sort()).toEqual(['a', 'b', 'c'])
  })
})

describe('a list in a checkpoint', () => {
  it('of an older build, which knew no chunks, is restored', async () => {
    const backend = await open({ storeType: 'rocksdb', budget: 1 })
    const serializer = msgpackSerializer<Bid>()
    const packed = new ByteWriter()
    for (const each of bids(300)) {
      const element = new ByteWriter()
      serializer.write(each, element)
      packed.sized(element.toBytes())
    }
    backend.beginRestore([{ name: 'bids', kind: 'list', format: 'msgpack/1' }])
    select(backend, 'k')
    backend.restore(
      keyGroupOf(text('k'), MAX_PARALLELISM),
      'bids',
      text('k\0\x01\0\x01'),
      packed.toBytes(),
    )
    backend.endRestore(1)
    select(backend, 'k')
    const list = backend.list(LIST)
    list.add(bid(300))
    expect(list.get()).toEqual(bids(301))
  })

  it('is declared in a format that an older build refuses', async () => {
    const backend = await open({ storeType: 'heap', budget: 0 })
    backend.list(LIST)
    backend.list(listState<Bid>('short-lived', { ttl: { ttlMs: 1000 } }))
    expect(backend.declarations()).toEqual([
      { name: 'bids', kind: 'list', format: 'msgpack/1+chunks' },
      { name: 'short-lived', kind: 'list', format: 'msgpack/1+ttl' },
    ])
  })

  it('that lacks a chunk is refused when it is read', async () => {
    const backend = await open({ storeType: 'rocksdb', budget: 1 })
    const list = backend.list(LIST)
    select(backend, 'k')
    for (let n = 0; n < 300; n++) list.add(bid(n))
    const { changes } = snapshot(backend, new Segment(), true)
    const damaged = new Segment()
    damaged.changes.push(...changes.filter(({ key }) => key.at(-2) !== 1))
    expect(damaged.changes).toHaveLength(changes.length - 1)
    const restored = await open({ storeType: 'rocksdb', budget: 1 })
    restoreFrom(restored, backend, [damaged])
    select(restored, 'k')
    expect(() => restored.list(LIST).get()).toThrow('chunk 1 of a list in state "bids" is missing')
  })
})
