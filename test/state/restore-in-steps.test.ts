import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { valueState } from '../../src/state/port/descriptors.ts'
import { Backends, feed, finish, Segment, select } from './keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

const KEYS = 10_000
/** A step is of at most so many entries. */
const IN_A_STEP = 512
const COUNT = valueState<number>('count')

describe('the end of a restore', () => {
  it('goes through timers and deleted entries in steps, and then all is there', async () => {
    const source = await backends.create()
    const count = source.value(COUNT)
    const timers = source.timers('timers')
    const [first, second] = [new Segment(), new Segment()]
    for (let n = 0; n < KEYS; n++) {
      select(source, `key-${n}`)
      count.update(n)
      timers.register(n)
    }
    finish(source.snapshot(1, first, true))
    for (let n = 1; n < KEYS; n++) {
      select(source, `key-${n}`)
      count.clear()
    }
    finish(source.snapshot(2, second, false))

    const restored = await backends.create()
    restored.beginRestore(source.declarations())
    const queue = restored.timers('timers')
    const state = restored.value(COUNT)
    feed(restored, [first, second])
    const steps = [...restored.endRestoreInSteps(2)].length
    expect(steps).toBeGreaterThanOrEqual(Math.floor((2 * KEYS) / IN_A_STEP) - 1)
    const fired: number[] = []
    for (let timer = queue.poll(KEYS); timer !== undefined; timer = queue.poll(KEYS)) {
      fired.push(timer.timestamp)
    }
    expect(fired).toEqual(Array.from({ length: KEYS }, (_, n) => n))
    select(restored, 'key-0')
    expect(state.value()).toBe(0)
    select(restored, 'key-1')
    expect(state.value()).toBeUndefined()
  })
})
