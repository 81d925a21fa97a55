import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { TimerQueue } from '../../../src/state/port/timer-queue.ts'
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

const memory = (): number => Number(backends.metrics.snapshot()['typedStateBytes'])

const drain = (queue: TimerQueue, upTo: number): string[] => {
  const fired: string[] = []
  for (let timer = queue.poll(upTo); timer !== undefined; timer = queue.poll(upTo)) {
    fired.push(`${timer.timestamp} ${show(timer.key)} ${show(timer.namespace)}`)
  }
  return fired
}

describe('timers of a subtask', () => {
  it('fire in order of time', async () => {
    const backend = await backends.create()
    const queue = backend.timers('event')
    for (const [time, key, namespace] of [
      [20, 'a', ''],
      [-5, 'z', ''],
      [10, 'b', 'w2'],
      [2 ** 40, 'a', ''],
      [Number.MAX_SAFE_INTEGER, 'a', ''],
      [-Number.MAX_SAFE_INTEGER, 'a', ''],
    ] as const) {
      select(backend, key)
      backend.setCurrentNamespace(text(namespace))
      queue.register(time)
    }
    expect(queue.peek()).toBe(-Number.MAX_SAFE_INTEGER)
    expect(drain(queue, 15)).toEqual([`${-Number.MAX_SAFE_INTEGER} a `, '-5 z ', '10 b w2'])
    expect(queue.peek()).toBe(20)
    expect(drain(queue, Number.MAX_SAFE_INTEGER)).toEqual([
      '20 a ',
      `${2 ** 40} a `,
      `${Number.MAX_SAFE_INTEGER} a `,
    ])
    expect(queue.peek()).toBeUndefined()
  })

  it('of one moment fire in an order that depends only on keys and namespaces', async () => {
    const names = Array.from(
      { length: 200 },
      (_, i) => [`key-${i % 50}`, `window-${i % 7}`] as const,
    )
    const orderOf = async (registered: typeof names): Promise<string[]> => {
      const backend = await backends.create()
      const queue = backend.timers('event')
      for (const [key, namespace] of registered) {
        select(backend, key)
        backend.setCurrentNamespace(text(namespace))
        queue.register(10)
      }
      return drain(queue, 10)
    }
    const order = await orderOf(names)
    expect(new Set(order).size).toBe(200)
    expect(await orderOf(names.toReversed())).toEqual(order)
  })

  it('are kept once however often they are registered', async () => {
    const backend = await backends.create()
    const queue = backend.timers('event')
    select(backend, 'a')
    queue.register(1)
    queue.register(1)
    queue.delete(1)
    queue.register(1)
    queue.delete(2)
    expect([queue.has(1), queue.has(2)]).toEqual([true, false])
    expect(drain(queue, 5)).toEqual(['1 a '])
    expect(queue.has(1)).toBe(false)
    queue.register(1)
    expect(drain(queue, 5)).toEqual(['1 a '])
  })

  it('belong to their queue alone', async () => {
    const backend = await backends.create()
    select(backend, 'a')
    backend.timers('event').register(1)
    expect(backend.timers('processing').peek()).toBeUndefined()
    expect(backend.timers('event').peek()).toBe(1)
  })

  it('that memory has no room for fire in order of time, new, deleted and equal ones, too', async () => {
    const backend = await backends.create({ storeType: 'rocksdb', budget: 400_000 })
    const sink = new Segment()
    backend.setSpillSink(sink)
    const queue = backend.timers('event')
    const times = new Map<string, number>()
    const register = (n: number, time: number): void => {
      times.set(`k${n}`, time)
      select(backend, `k${n}`)
      queue.register(time)
    }
    for (let n = 0; n < 5000; n++) register(n, (n * 7919) % 1000)
    expect(memory()).toBeLessThan(400_000)
    expect(sink.changes.length).toBeGreaterThan(1000)
    for (let n = 0; n < 5000; n += 5) {
      select(backend, `k${n}`)
      queue.delete(times.get(`k${n}`)!)
      times.delete(`k${n}`)
    }
    // Looking at one that is in the store leaves it there.
    for (let n = 0; n < 5000; n += 7) {
      select(backend, `k${n}`)
      const time = times.get(`k${n}`)
      expect(queue.has(time ?? (n * 7919) % 1000)).toBe(time !== undefined)
    }
    expect(drain(queue, 99)).toHaveLength(400)
    for (let n = 5000; n < 5100; n++) register(n, 100 + (n % 900))
    const left = drain(queue, 2000).map((timer) => timer.trim().split(' '))
    const expected = [...times].filter(([, time]) => time > 99)
    expect(left.map(([time]) => Number(time))).toEqual(
      expected.map(([, time]) => time).sort((a, b) => a - b),
    )
    expect(left.map(([, key]) => key).sort()).toEqual(expected.map(([key]) => key).sort())
    expect(queue.peek()).toBeUndefined()
  })

  it('that are in the store are in the next full snapshot, and are restored', async () => {
    const backend = await backends.create({ storeType: 'rocksdb', budget: 1 })
    backend.setSpillSink(new Segment())
    const queue = backend.timers('event')
    for (let n = 0; n < 500; n++) {
      select(backend, `k${n}`)
      queue.register(n)
    }
    expect(queue.poll(1000)?.timestamp).toBe(0)
    const segment = new Segment()
    finish(backend.snapshot(1, segment, true))
    const restored = await backends.create({ storeType: 'rocksdb', budget: 1 })
    const again = restored.timers('event')
    restoreFrom(restored, backend, [segment])
    const rest = drain(queue, 1000)
    expect(rest).toHaveLength(499)
    expect(drain(again, 1000)).toEqual(rest)
  })

  it('of one moment stay in memory however many they are, and other state keeps its room', async () => {
    const backend = await backends.create({ storeType: 'rocksdb', budget: 100_000 })
    backend.setSpillSink(new Segment())
    const queue = backend.timers('event')
    const state = backend.value(valueState<number>('value'))
    for (let n = 0; n < 2000; n++) {
      select(backend, `k${n}`)
      queue.register(7)
      state.update(n)
    }
    expect(backends.metrics.snapshot()['typedStateEvictions']).toBeLessThan(2000)
    expect(drain(queue, 7)).toHaveLength(2000)
  })

  it('survive a restore, deleted and fired ones excepted, under any budget', async () => {
    const backend = await backends.create({ storeType: 'rocksdb', budget: 1 })
    const queue = backend.timers('event')
    for (let n = 0; n < 30; n++) {
      select(backend, `k${n % 5}`)
      queue.register(n)
    }
    const first = new Segment()
    finish(backend.snapshot(1, first, false))
    queue.poll(0)
    select(backend, 'k1')
    queue.delete(1)
    queue.delete(6)
    queue.register(6)
    queue.register(100)
    const second = new Segment()
    finish(backend.snapshot(2, second, false))
    const restored = await backends.create({ storeType: 'rocksdb', budget: 1 })
    const early = restored.timers('event')
    restoreFrom(restored, backend, [first, second])
    expect(drain(early, 200)).toEqual(drain(queue, 200))
    expect(second.changes.map((change) => change.value === undefined)).toContain(true)
  })
})
