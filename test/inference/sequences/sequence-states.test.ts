import { describe, expect, it } from 'vitest'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { SequenceStates } from '../../../src/inference/sequences/sequence-states.ts'
import { readStep } from '../../../src/inference/sequences/step.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const tensor = (value: number): Tensor => ({
  ...{ name: 's', datatype: 'UINT8', shape: [1] },
  data: Uint8Array.of(value),
})

const numberOf = (carried: readonly Tensor[]): number => carried[0]!.data[0]!

/** Sequences of a model that adds: each answer is the sum of all numbers of its sequence. */
class Sums {
  readonly clock: ManualClock
  readonly states: SequenceStates
  /** Step of the last answer. */
  step = ''
  /** What holds up the next runs. */
  gate: Promise<void> = Promise.resolve()

  constructor(limits: { ttlMs?: number; most?: number } = {}, clock = new ManualClock()) {
    this.clock = clock
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
      after = undefined as string | undefined,
    } = {},
  ): Promise<number> {
    return this.states.answer({
      terms: { id, isStart, isEnd, client, after: after === undefined ? after : readStep(after) },
      version,
      deadlineMs,
      start: () => [tensor(0)],
      run: async (carried, _deadlineMs, step) => {
        await this.gate
        this.step = step
        if (fails) throw new Error('the run failed')
        const sum = numberOf(carried) + number
        return { answer: sum, next: [tensor(sum)] }
      },
    })
  }
}

const START = { isStart: true }

/** The sequences of another process that goes on from a checkpoint of these. */
function restored(
  from: Sums,
  {
    isLast = true,
    awayMs = 0,
    ...limits
  }: { isLast?: boolean; awayMs?: number; most?: number } = {},
): Sums {
  const stored = [...from.states.stored(isLast)].map((one) => ({ model: 'm', ...one }))
  const next = new Sums(limits, new ManualClock(from.clock.nowMs() + awayMs))
  next.states.restore(stored)
  return next
}

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

describe('the steps of a sequence', () => {
  it('are counted by its answers, those of another beginning under other names', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    const [first, beginning] = sums.step.split('-')
    expect(first).toBe('1')
    await expect(sums.add('a', 2, { fails: true })).rejects.toThrow('the run failed')
    await sums.add('a', 2)
    expect(sums.step).toBe(`2-${beginning}`)
    await sums.add('a', 1, START)
    expect(sums.step).toMatch(/^1-[0-9a-f]{12}$/)
    expect(sums.step).not.toBe(`1-${beginning}`)
  })

  it('let a request run after the answer that it names only', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    const first = sums.step
    expect(await sums.add('a', 2, { after: first })).toBe(3)
    // As from a client that lost the answer and asks again.
    const again = sums.add('a', 2, { after: first })
    await expect(again).rejects.toMatchObject({
      code: 'SEQUENCE_OUT_OF_STEP',
      details: { step: 2, why: 'answered' },
    })
    expect(await sums.add('a', 3, { after: sums.step })).toBe(6)
    await sums.add('a', 1, START)
    await expect(sums.add('a', 2, { after: first.replace(/^1/, '2') })).rejects.toMatchObject({
      details: { why: 'other-beginning' },
    })
  })

  it('are judged in the turn of a request, and one that is refused fails those that were sent behind it', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    const after = sums.step
    const [second, repeated, behind] = [1, 2, 3].map((number) =>
      sums.add('a', number, number === 2 ? { after } : {}),
    )
    expect(await second).toBe(2)
    await expect(repeated).rejects.toMatchObject({ code: 'SEQUENCE_OUT_OF_STEP' })
    await expect(behind).rejects.toMatchObject({ code: 'SEQUENCE_LOST' })
    expect(await sums.add('a', 4)).toBe(6)
  })
})

describe('what a checkpoint has of sequences', () => {
  it('goes on in the next process after a planned end as if nothing had been', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    await sums.add('a', 2)
    await sums.add('b', 5, START)
    const next = restored(sums)
    expect(await next.add('a', 4)).toBe(7)
    expect(next.step).toMatch(/^3-/)
    expect(await next.add('b', 1)).toBe(6)
  })

  it('needs the answer that a request follows where later ones may be lost', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    const stored = sums.step
    const next = restored(sums, { isLast: false })
    await sums.add('a', 2)
    const lostStep = sums.step
    await expect(next.add('a', 4)).rejects.toMatchObject({ details: { step: 1, why: 'unnamed' } })
    await expect(next.add('a', 4, { after: lostStep })).rejects.toMatchObject({
      code: 'SEQUENCE_OUT_OF_STEP',
      details: { step: 1, sequenceStep: stored, why: 'behind' },
    })
    expect(await next.add('a', 2, { after: stored })).toBe(3)
    // It is known to be right from here on.
    expect(await next.add('a', 4)).toBe(7)
  })

  it('is not taken for whole when it was not, although the next process ended as planned', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    const between = restored(sums, { isLast: false })
    await expect(restored(between).add('a', 2)).rejects.toMatchObject({
      details: { why: 'unnamed' },
    })
  })

  it('is of a beginning, so that one under the same id with as many answers does not go on from it', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    const next = restored(sums, { isLast: false })
    await sums.add('a', 100, START)
    await expect(next.add('a', 1, { after: sums.step })).rejects.toMatchObject({
      details: { why: 'other-beginning' },
    })
  })

  it('is as the last answer left it while a request runs, and not whole', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    const { promise, resolve } = Promise.withResolvers<void>()
    sums.gate = promise
    const begun = sums.add('b', 1, START)
    const second = sums.add('a', 2)
    const stored = [...sums.states.stored(true)]
    expect(stored.map(({ id, step, isWhole }) => ({ id, step, isWhole }))).toEqual([
      { id: 'a', step: 1, isWhole: false },
    ])
    expect(numberOf(stored[0]!.carried)).toBe(1)
    let isIdle = false
    const idle = sums.states.idle().then(() => {
      isIdle = true
    })
    await Promise.resolve()
    expect(isIdle).toBe(false)
    resolve()
    await Promise.all([idle, second, begun])
  })

  it('has nothing of a sequence that has ended, or was forgotten', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    sums.clock.advance(600)
    await sums.add('b', 1, START)
    await sums.add('b', 1, { isEnd: true })
    await sums.add('c', 1, START)
    sums.clock.advance(600)
    expect([...sums.states.stored(false)].map(({ id }) => id)).toEqual(['c'])
  })

  it('is forgotten by the time that has passed in between', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    sums.clock.advance(400)
    await sums.add('b', 1, START)
    const next = restored(sums, { awayMs: 700 })
    await expect(next.add('a', 1)).rejects.toMatchObject({ code: 'SEQUENCE_LOST' })
    expect(await next.add('b', 1)).toBe(2)
    const late = restored(sums, { awayMs: 600 })
    late.clock.advance(400)
    await expect(late.add('b', 1)).rejects.toThrow('had no request for 1000 ms')
  })

  it('lives no longer where the clock was set back', async () => {
    const sums = new Sums({}, new ManualClock(1_000_000))
    await sums.add('a', 1, START)
    const next = restored(sums, { awayMs: -500_000 })
    next.clock.advance(1000)
    await expect(next.add('a', 1)).rejects.toMatchObject({ code: 'SEQUENCE_LOST' })
  })

  it('means nothing to another version', async () => {
    const sums = new Sums()
    await sums.add('a', 1, START)
    await expect(restored(sums).add('a', 1, { version: 'v2' })).rejects.toThrow(
      'began on another version',
    )
  })

  it('takes no place before its next request, and the latest stay where there are too many', async () => {
    const sums = new Sums({ most: 4 })
    for (const id of ['a', 'b', 'c']) {
      await sums.add(id, 1, START)
      sums.clock.advance(1)
    }
    const next = restored(sums, { most: 2 })
    await expect(next.add('a', 1)).rejects.toMatchObject({ code: 'SEQUENCE_LOST' })
    await next.add('d', 1, START)
    expect(await next.add('b', 1)).toBe(2)
    await expect(next.add('c', 1)).rejects.toMatchObject({ code: 'OVERLOADED' })
    await next.add('b', 1, { isEnd: true })
    expect(await next.add('c', 1)).toBe(2)
  })
})
