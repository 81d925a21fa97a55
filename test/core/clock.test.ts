import { Worker } from 'node:worker_threads'
import { expect, it, vi } from 'vitest'
import { clockDistanceMs, orAfter, systemClock } from '../../src/core/clock.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'

it('the distance of two clocks is exact though the thread stands still at most looks at them', () => {
  let nowMs = 1000
  let looks = 0
  const look = (): number => {
    looks += 1
    nowMs += looks < 60 ? 7 : 0.001
    return nowMs
  }
  expect(Math.abs(clockDistanceMs(() => look() - 300, look) - 300)).toBeLessThan(0.01)
})

it('all threads have the same monotonic time, from their first moment', async () => {
  const clock = new URL('../../src/core/clock.ts', import.meta.url).href
  const code = `
    import { parentPort } from 'node:worker_threads'
    import { systemClock } from '${clock}'
    const look = () => [process.hrtime.bigint(), systemClock.monotonicMs(), process.hrtime.bigint()]
    parentPort.postMessage(Array.from({ length: 50 }, look))`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`))
  const looks = await new Promise<[bigint, number, bigint][]>((resolve, reject) => {
    worker.on('message', resolve)
    worker.on('error', reject)
  })
  for (const [before, nowMs, after] of looks) {
    expect(nowMs).toBeGreaterThan(Number(before) / 1e6 - 0.05)
    expect(nowMs).toBeLessThan(Number(after) / 1e6 + 0.05)
  }
})

it('waits for longer than a timeout of Node can, and calls once', () => {
  const dayMs = 24 * 60 * 60 * 1000
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const calls: string[] = []
    systemClock.after(60 * dayMs, () => calls.push('called'))
    const cancel = systemClock.after(60 * dayMs, () => calls.push('canceled'))
    vi.advanceTimersByTime(59 * dayMs)
    expect(calls).toEqual([])
    cancel()
    vi.advanceTimersByTime(60 * dayMs)
    expect(calls).toEqual(['called'])
  } finally {
    vi.useRealTimers()
  }
})

it('work that settles in time gives its result and leaves no timer, and later what is late', async () => {
  const clock = new ManualClock()
  expect(await orAfter(clock, 100, Promise.resolve('done'), () => 'late')).toBe('done')
  await expect(
    orAfter(clock, 100, Promise.reject(new Error('failed')), () => 'late'),
  ).rejects.toThrow('failed')
  const slow = orAfter(clock, 100, new Promise<string>(() => {}), () => 'late')
  clock.advance(100)
  expect(await slow).toBe('late')
  const thrown = orAfter(clock, 100, new Promise<string>(() => {}), () => {
    throw new Error('too late')
  })
  clock.advance(100)
  await expect(thrown).rejects.toThrow('too late')
})
