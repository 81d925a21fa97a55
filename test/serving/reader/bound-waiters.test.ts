import { beforeEach, describe, expect, it } from 'vitest'
import { RequestOwner } from '../../../src/serving/port/request-owner.ts'
import {
  type BoundRequest,
  BoundWaiters,
  type SlotBounds,
} from '../../../src/serving/reader/bound-waiters.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

/** One slot with one partition; counts how often its progress is compared. */
class Progress implements SlotBounds {
  readonly clock = new ManualClock(1000)
  nextOffset = 0
  looks = 0

  incarnationIfReached(_slot: number, { consistency }: BoundRequest): number | undefined {
    this.looks += 1
    if (consistency.level !== 'at-least') return undefined
    return consistency.partition === 0 && this.nextOffset > consistency.offset ? 7 : undefined
  }
}

let progress: Progress
let waiters: BoundWaiters
let ended: string[]

beforeEach(() => {
  progress = new Progress()
  waiters = new BoundWaiters(progress)
  ended = []
})

function wait(offset: number, options: Partial<BoundRequest> & { partition?: number } = {}): void {
  const { partition = 0, deadline = 100_000, owner } = options
  const consistency = { level: 'at-least', partition, offset } as const
  waiters.wait(0, { consistency, version: 1, deadline, owner }).then(
    (incarnation) => ended.push(`${offset}: ${incarnation}`),
    (error) => ended.push(`${offset}: ${error.code}`),
  )
}

async function look(): Promise<void> {
  progress.clock.advance(1)
  await new Promise((resolve) => setImmediate(resolve))
}

describe('BoundWaiters', () => {
  it('release requests when their offset is applied', async () => {
    for (const offset of [5, 3, 9, 3]) wait(offset)
    await look()
    expect(ended).toEqual([])
    progress.nextOffset = 6
    await look()
    expect(ended.sort()).toEqual(['3: 7', '3: 7', '5: 7'])
    expect(waiters.size).toBe(1)
  })

  it('compare as much for ten thousand requests as for one', async () => {
    for (let n = 0; n < 10_000; n++) wait(2 ** 40 + n)
    progress.looks = 0
    for (let n = 0; n < 10; n++) await look()
    expect(progress.looks).toBe(10)
  })

  it('end requests of a connection that is gone, and those at their deadline', async () => {
    const owner = new RequestOwner()
    for (let n = 0; n < 100; n++) wait(n, { owner })
    wait(1000, { deadline: progress.clock.monotonicMs() + 50 })
    owner.leave()
    await look()
    expect(ended).toHaveLength(100)
    expect(waiters.size).toBe(1)
    progress.clock.advance(60)
    await look()
    expect(ended.at(-1)).toBe('1000: NOT_UP_TO_BOUND')
    expect(waiters.size).toBe(0)
  })
})
