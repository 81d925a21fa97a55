import { expect, it } from 'vitest'
import { BackgroundWork } from '../../../src/core/lifetime/background-work.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

it('work that goes on is waited for', async () => {
  const work = new BackgroundWork(new ManualClock())
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  work.add(first.promise)
  work.add(second.promise)
  let isDisposed = false
  const disposed = work[Symbol.asyncDispose]().then(() => {
    isDisposed = true
  })
  first.resolve()
  await first.promise
  expect(isDisposed).toBe(false)
  second.resolve()
  await disposed
})

it('work whose service is away is waited for 5 s, and leaves no timer', async () => {
  const clock = new ManualClock()
  const work = new BackgroundWork(clock)
  work.add(new Promise(() => {}))
  const disposed = work[Symbol.asyncDispose]()
  clock.advance(5_000)
  await disposed
  expect(clock.pending).toBe(0)
})

it('without work there is nothing to wait for', async () => {
  const clock = new ManualClock()
  const work = new BackgroundWork(clock)
  work.add(Promise.resolve())
  await Promise.resolve()
  await work[Symbol.asyncDispose]()
  expect(clock.pending).toBe(0)
})
