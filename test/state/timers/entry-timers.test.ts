import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { EntryTimers } from '../../../src/state/port/entry-timers.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import type { KeyedStateBackend } from '../../../src/state/port/keyed-state-backend.ts'
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

const STATE = valueState<number>('windows')
const NO_NAMESPACE = new Uint8Array(0)
const namespaceAt = (timestamp: number): Uint8Array => text(`until ${timestamp}`)

/** A state whose entries have timers. */
interface Timed {
  readonly backend: KeyedStateBackend
  readonly state: ValueState<number>
  readonly timers: EntryTimers
  readonly queue: TimerQueue
}

async function timed(named = false): Promise<Timed> {
  const backend = await backends.create()
  const state = backend.value(STATE)
  const queue = backend.timers('event')
  const timers = backend.entryTimers('event', STATE, named ? namespaceAt : undefined)!
  return { backend, state, timers, queue }
}

function set({ backend, state, timers }: Timed, key: string, time: number, namespace = ''): void {
  select(backend, key)
  backend.setCurrentNamespace(namespace === '' ? NO_NAMESPACE : text(namespace))
  state.update(time)
  timers.set(time)
}

/** Polls all timers up to a time; each ends its entry. */
function fire({ queue, state }: Timed, upTo: number): string[] {
  const fired: string[] = []
  for (let timer = queue.poll(upTo); timer !== undefined; timer = queue.poll(upTo)) {
    fired.push(`${timer.timestamp} ${show(timer.key)} ${show(timer.namespace)}`)
    state.clear()
  }
  return fired
}

async function restored(from: Timed, segments: readonly Segment[], named = false): Promise<Timed> {
  const to = await timed(named)
  restoreFrom(to.backend, from.backend, segments)
  return to
}

function snapshot({ backend }: Timed, id: number, full = false): Segment {
  const segment = new Segment()
  finish(backend.snapshot(id, segment, full))
  return segment
}

describe('timers of entries', () => {
  it('fire by time, of one moment in the order in which they were set, and select their entry', async () => {
    const all = await timed()
    for (const key of ['c', 'a', 'b']) set(all, key, 20, 'w')
    set(all, 'd', 10, 'v')
    expect(all.queue.peek()).toBe(10)
    expect(all.queue.poll(9)).toBeUndefined()
    expect(all.queue.poll(10)?.timestamp).toBe(10)
    expect(all.state.value()).toBe(10)
    expect(fire(all, 100)).toEqual(['20 c w', '20 a w', '20 b w'])
    expect(all.queue.peek()).toBeUndefined()
    select(all.backend, 'a')
    all.backend.setCurrentNamespace(text('w'))
    expect(all.state.value()).toBeUndefined()
  })

  it('end with their entries, and begin again with them', async () => {
    const all = await timed()
    set(all, 'a', 20)
    all.state.clear()
    expect(all.queue.peek()).toBeUndefined()
    set(all, 'a', 20)
    expect(fire(all, 100)).toEqual(['20 a '])
    set(all, 'a', 30)
    snapshot(all, 1)
    all.state.clear()
    set(all, 'a', 40)
    expect(fire(all, 100)).toEqual(['40 a '])
  })

  it('keep the earlier time, and can be set again once they have fired', async () => {
    const all = await timed(true)
    set(all, 'a', 20)
    set(all, 'a', 30)
    set(all, 'a', 10)
    expect(all.queue.poll(50)?.timestamp).toBe(10)
    all.timers.set(15)
    expect(fire(all, 50)).toEqual(['15 a until 15'])
  })

  it('fire between timers with keys of their own', async () => {
    const all = await timed()
    set(all, 'a', 20)
    for (const time of [10, 20, 30]) all.queue.register(time)
    const times: number[] = []
    for (let timer = all.queue.poll(99); timer !== undefined; timer = all.queue.poll(99)) {
      times.push(timer.timestamp)
    }
    expect(times).toEqual([10, 20, 20, 30])
  })

  it('are in segments as timers with keys of their own, each once', async () => {
    for (const named of [false, true]) {
      const all = await timed(named)
      set(all, 'a', 20)
      const own = await backends.create()
      select(own, 'a')
      own.setCurrentNamespace(named ? namespaceAt(20) : NO_NAMESPACE)
      own.timers('event').register(20)
      const expected = new Segment()
      finish(own.snapshot(1, expected, false))
      const written = (segment: Segment) =>
        segment.changes.filter(({ state }) => state === 'timers:event')
      expect(written(snapshot(all, 1))).toEqual(expected.changes)
      all.state.update(7)
      expect(written(snapshot(all, 2))).toEqual([])
      expect(written(snapshot(all, 3, true))).toEqual(expected.changes)
      all.state.clear()
      expect(written(snapshot(all, 4)).map(({ value }) => value)).toEqual([undefined])
    }
  })

  it('are in a snapshot that was in progress when they fired', async () => {
    const all = await timed()
    for (let n = 0; n < 50; n++) set(all, `k${n}`, 20)
    const segment = new Segment()
    const running = all.backend.snapshot(1, segment, false)
    expect(fire(all, 20)).toHaveLength(50)
    finish(running)
    expect(fire(await restored(all, [segment]), 20)).toHaveLength(50)
    expect(fire(await restored(all, [segment, snapshot(all, 2)]), 20)).toEqual([])
  })

  it('that are set again for a restored timer leave one form of it in segments', async () => {
    const first = await timed()
    set(first, 'a', 20)
    const before = snapshot(first, 1)
    const second = await restored(first, [before])
    expect(fire(second, 20)).toEqual(['20 a '])
    set(second, 'a', 20)
    const after = await restored(second, [before, snapshot(second, 2)])
    expect(fire(after, 20)).toEqual(['20 a '])
  })

  it('are refused where state may leave memory', async () => {
    const backend = await backends.create({ storeType: 'rocksdb', budget: 1 })
    backend.value(STATE)
    expect(backend.entryTimers('event', STATE)).toBeUndefined()
  })

  for (const seed of [1, 2, 3, 4]) {
    it(`fire as a plain map says, through snapshots of changes and restores (seed ${seed})`, async () => {
      const random = seededRandom(seed)
      const named = seed % 2 === 0
      const model = new Map<string, number>()
      /** Keys whose timers have keys of their own since a restore. */
      const own = new Set<string>()
      let all = await timed(named)
      let segments: Segment[] = []
      let now = 0
      for (let step = 0; step < 2000; step++) {
        const action = random.next()
        const key = `k${Math.floor(random.next() * 40)}`
        if (action < 0.8 && own.has(key)) continue
        if (action < 0.7) {
          const time = now + 1 + Math.floor(random.next() * 5)
          const earliest = Math.min(time, model.get(key) ?? time)
          model.set(key, earliest)
          set(all, key, time)
        } else if (action < 0.8) {
          model.delete(key)
          select(all.backend, key)
          all.backend.setCurrentNamespace(NO_NAMESPACE)
          all.state.clear()
        } else if (action < 0.92) {
          now += 1
          const due = [...model].filter(([, time]) => time <= now)
          for (const [name] of due) {
            model.delete(name)
            own.delete(name)
          }
          const names = fire(all, now).map((line) => line.split(' ')[1])
          expect(names.toSorted()).toEqual(due.map(([name]) => name).sort())
        } else if (action < 0.98) segments.push(snapshot(all, step))
        else {
          segments.push(snapshot(all, step, random.next() < 0.5))
          all = await restored(all, segments, named)
          for (const name of model.keys()) own.add(name)
          segments = [snapshot(all, step, true)]
        }
      }
    })
  }
})
