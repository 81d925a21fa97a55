import { describe, expect, it } from 'vitest'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { SequenceStates } from '../../../src/inference/sequences/sequence-states.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const tensor = (value: number): Tensor => ({
  ...{ name: 's', datatype: 'UINT8', shape: [1] },
  data: Uint8Array.of(value),
})

const numberOf = (carried: readonly Tensor[]): number => carried[0]!.data[0]!

/** Sequences of a model that adds: each answer is the sum of all numbers of its sequence. */
class Sums {
  readonly clock = new ManualClock()
  readonly states: SequenceStates
  /** What holds up the next runs. */
  gate: Promise<void> = Promise.resolve()

  constructor(limits: { ttlMs?: number; most?: number } = {}) {
    this.states = new SequenceStates(this.clock, { ttlMs: 1000, most: 10, ...limits })
  }

  add(
    id: string,
    number: number,
    {
      isStart = false,
      isEnd = false,
      version = 'v1',
      deadlineMs = 60_000,
      fails = false,
      client = undefined as string | undefined,
    } = {},
  ): Promise<number> {
    return this.states.answer({
      terms: { id, isStart, isEnd, client },
      version,
      deadlineMs,
      start: () => [tensor(0)],
      run: async (carried) => {
        await this.gate
        if (fails) throw new Error('the run failed')
        const sum = numberOf(carried) + number
        return { answer: sum, next: [tensor(sum)] }
      },
    })
  }
}

const START = { isStart: true }

describe('what a model carries for each sequence', () => {
  it('is that of the sequence alone, and begins anew with its start', async () => {
    const sums = new Sums()
    expect(await sums.add('a', 1, START)).toBe(1)
    expect(await sums.add('b', 10, START)).toBe(10)
    expect(await sums.add('a', 2)).toBe(3)
    expect(await sums.add('b', 20)).toBe(30)
    expect(await sums.add('a', 5, START)).toBe(5)
  })

  it('goes through requests in the order in which they came, although none waits for an answer', async () => {
    const sums = new Sums()
    const answers = [sums.add('a', 1, START), ...[2, 3, 4].map((number) => sums.add('a', number))]
    expect(await Promise.all(answers)).toEqual([1, 3, 6, 10])
  })

  it('is not there before a start, after an end, on another version, and after the time to live', async () => {
    const sums = new Sums()
    await expect(sums.add('a', 1)).rejects.toMatchObject({ code: 'SEQUENCE_LOST' })
    await sums.add('a', 1, START)
    expect(await sums.add('a', 1, { isEnd: true })).toBe(2)
    await expect(sums.add('a', 1)).rejects.toThrow('begin it again, with sequence_start')
    await sums.add('a', 1, START)
    await expect(sums.add('a', 1, { version: 'v2' })).rejects.toThrow('began on another version')
    await sums.add('a', 1, START)
    sums.clock.advance(999)
    expect(await sums.add('a', 1)).toBe(2)
    sums.clock.advance(1000)
    await expect(sums.add('a', 1)).rejects.toThrow('had no request for 1000 ms')
    expect(sums.states.size).toBe(0)
  })

  it('is not carried over a failure to requests that were sent before it was known', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    const failed = sums.add('a', 2, { fails: true })
    const behind = sums.add('a', 4)
    await expect(failed).rejects.toThrow('the run failed')
    await expect(behind).rejects.toThrow('had a request that failed after this one was sent')
    // What is sent now knows of the failure.
    expect(await sums.add('a', 8)).toBe(9)
  })

  it('has not begun where the first request failed', async () => {
    const sums = new Sums()
    await expect(sums.add('a', 1, { ...START, fails: true })).rejects.toThrow('the run failed')
    await expect(sums.add('a', 2)).rejects.toMatchObject({ code: 'SEQUENCE_LOST' })
  })

  it('ends for requests behind the last one, and a new start under its id does not wait for it', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    const last = sums.add('a', 2, { isEnd: true })
    const behind = sums.add('a', 4)
    const begun = sums.add('a', 8, START)
    expect(await last).toBe(3)
    await expect(behind).rejects.toThrow('has ended')
    expect(await begun).toBe(8)
    expect(await sums.add('a', 1)).toBe(9)
  })

  it('waits no longer than the deadline for earlier requests', async () => {
    const sums = new Sums()
    const { promise, resolve } = Promise.withResolvers<void>()
    sums.gate = promise
    const first = sums.add('a', 1, START)
    const second = sums.add('a', 2, { deadlineMs: 50 })
    const expired = expect(second).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    sums.clock.advance(50)
    await expired
    resolve()
    expect(await first).toBe(1)
  })

  it('has bounds: of sequences, and of requests of one that wait', async () => {
    const sums = new Sums({ most: 2 })
    await sums.add('a', 1, START)
    await sums.add('b', 1, START)
    await expect(sums.add('c', 1, START)).rejects.toMatchObject({ code: 'OVERLOADED' })
    expect(await sums.add('a', 1, START)).toBe(1)
    await sums.add('b', 1, { isEnd: true })
    expect(await sums.add('c', 1, START)).toBe(1)
    const many = Array.from({ length: 65 }, () => sums.add('a', 1))
    const ends = await Promise.allSettled(many)
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1)
    await expect(many[64]).rejects.toThrow('has 64 requests under way')
    expect(await many[63]).toBe(65)
  })

  it('is of at most half of the sequences for one client', async () => {
    const sums = new Sums({ most: 4, ttlMs: 1000 })
    const start = (id: string, client: string) => sums.add(id, 1, { ...START, client })
    await start('a', 'one')
    await start('b', 'one')
    await expect(start('c', 'one')).rejects.toThrow('2 sequences of one client are under way')
    await start('c', 'two')
    // The same id again is the same place.
    await start('a', 'one')
    await sums.add('b', 1, { isEnd: true, client: 'one' })
    await start('d', 'one')
    sums.clock.advance(1000)
    await start('e', 'one')
    await start('f', 'one')
    await expect(start('g', 'one')).rejects.toMatchObject({ code: 'OVERLOADED' })
  })

  it('is what plain sums say for many sequences at once, in any order', async () => {
    const sums = new Sums({ most: 100 })
    const expected = new Map<string, number>()
    const asked: Promise<void>[] = []
    for (let i = 0; i < 600; i++) {
      const id = `s${(i * 7) % 50}`
      const before = expected.get(id)
      const sum = (before ?? 0) + (i % 5)
      expected.set(id, sum)
      const answer = sums.add(id, i % 5, { isStart: before === undefined })
      asked.push(answer.then((got) => expect(got).toBe(sum)))
    }
    await Promise.all(asked)
  })
})
