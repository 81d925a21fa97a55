import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { advanceCounter, waitForCounter } from '../../../src/state/store/shared-counter.ts'

const counter = (): Int32Array<SharedArrayBuffer> => new Int32Array(new SharedArrayBuffer(4))

/** Wakes the waiting thread ten times without counting anything, then counts. */
const LATE_WAKER = `
  const { workerData } = require('node:worker_threads')
  for (let woken = 0; woken < 10; ) woken += Atomics.notify(workerData, 0)
  Atomics.add(workerData, 0, 1)
  Atomics.notify(workerData, 0)
`

describe('a shared counter', () => {
  it('is not waited for once it has changed', () => {
    const counters = counter()
    advanceCounter(counters, 0)
    expect(waitForCounter(counters, 0, 0, 60_000)).toBe(true)
  })

  it('is waited for until it counts, however often its waiter is woken', async () => {
    const counters = counter()
    const worker = new Worker(LATE_WAKER, { eval: true, workerData: counters })
    expect(waitForCounter(counters, 0, 0, 60_000)).toBe(true)
    expect(counters[0]).toBe(1)
    await worker.terminate()
  })

  it('that does not change ends the wait at the timeout', () => {
    expect(waitForCounter(counter(), 0, 0, 1)).toBe(false)
  })
})
