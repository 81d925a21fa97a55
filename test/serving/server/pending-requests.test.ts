import { beforeEach, describe, expect, it } from 'vitest'
import { MetricGroup } from '../../../src/core/metrics.ts'
import type { AsyncRequest, AsyncTerms } from '../../../src/serving/server/async-request.ts'
import { QueryMetrics } from '../../../src/serving/server/metrics.ts'
import { type QueryLimits, resolveQueryOptions } from '../../../src/serving/server/options.ts'
import { type AnswerOutput, PendingRequests } from '../../../src/serving/server/pending-requests.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { KIND } from '../../../src/wire/frame.ts'
import { FakeQueryBackend } from '../port/fake-query-backend.ts'

const VALUE_BYTES = 10_000
const KIB = 1024

/** Output of a client that reads only when `read` is called. */
class Output implements AnswerOutput {
  unread = 0
  most = 0
  readonly answered: number[] = []
  readonly refused: string[] = []

  get room(): number {
    return 1024 * KIB - this.unread
  }

  answer(_kind: number, requestId: number): number {
    const bytes = sizes[this.answered.length]!
    this.unread += bytes
    this.most = Math.max(this.most, this.unread)
    this.answered.push(requestId)
    return bytes
  }

  refuse(_requestId: number, error: { readonly code: string }): void {
    this.refused.push(error.code)
  }

  read(): void {
    this.unread = 0
    pending.pump()
  }
}

let clock: ManualClock
let output: Output
let pending: PendingRequests
let sizes: number[]
let runs: { from: number; most: number; terms: AsyncTerms }[]

function start(limits: Partial<QueryLimits> = {}): void {
  clock = new ManualClock(1000)
  output = new Output()
  const metrics = new QueryMetrics(new MetricGroup())
  const options = resolveQueryOptions({ limits, clock })
  pending = new PendingRequests({ options, metrics, backend: new FakeQueryBackend() }, output)
  sizes = []
  runs = []
}

beforeEach(() => start())

/** Values of 10 kB each; a part ends as the slot's answer does. */
function values(count: number): AsyncRequest {
  return {
    count,
    async run(terms, from, most) {
      runs.push({ from, most, terms })
      const answered = Math.min(most, Math.ceil(terms.maxBytes / VALUE_BYTES))
      return {
        count: answered,
        write: () => {
          throw new Error('the output does not write')
        },
      }
    },
  }
}

function add(request: AsyncRequest, requestId = 1, deadlineMs = 1000, frameBytes = 100): void {
  pending.add({ kind: KIND.values, requestId, request, deadlineMs, frameBytes })
}

async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve()
}

describe('PendingRequests', () => {
  it('answers 65,535 values of 10 kB within the output that a client may leave unread', async () => {
    sizes = new Array(70_000).fill(7 * VALUE_BYTES)
    add(values(65_535))
    for (let i = 0; i < 40; i++) await settle()
    expect(output.most).toBeLessThan(1200 * KIB)
    const before = runs.length
    await settle()
    expect(runs.length).toBe(before)
    for (let n = 0; n < 20_000 && pending.outstanding > 0; n++) {
      output.read()
      await settle()
    }
    expect(pending.outstanding).toBe(0)
    expect(output.most).toBeLessThan(1200 * KIB)
  })

  it('gives a request at most the longest deadline, whatever the client asks for', async () => {
    sizes = [10, 10]
    add(values(1), 1, 0xffffffff)
    add(values(1), 2, 0)
    await settle()
    expect(runs.map(({ terms }) => terms.deadlineMs)).toEqual([60_000, 5_000])
  })

  it('ends a request that has waited for room beyond its deadline, without running it', async () => {
    output.unread = 1024 * KIB
    add(values(1))
    clock.advance(1001)
    output.read()
    await settle()
    expect(runs).toEqual([])
    expect(output.refused).toEqual(['DEADLINE_EXCEEDED'])
  })

  it('copies the bytes of a request that does not begin at once, and of no other', () => {
    const left: number[] = []
    const leaving = (id: number): AsyncRequest => ({
      ...values(1),
      leaveFrame: () => left.push(id),
    })
    add(leaving(1), 1)
    expect(runs.length).toBe(1)
    output.unread = 1024 * KIB
    add(leaving(2), 2)
    add(leaving(3), 3)
    expect(runs.length).toBe(1)
    expect(left).toEqual([2, 3])
  })

  it('refuses requests beyond its number and beyond its bytes', () => {
    start({ maxOutstanding: 10, maxOutstandingBytes: 10_000 })
    output.unread = 1024 * KIB
    add(values(8))
    expect(() => add(values(3))).toThrow('may have 10')
    expect(() => add(values(1), 2, 1000, 9_500)).toThrow('may have 10000')
    add(values(2))
  })

  it('runs nothing more when the connection is gone, and says so to what runs', async () => {
    sizes = new Array(100).fill(10)
    add(values(1000))
    expect(runs).toHaveLength(1)
    pending.leave()
    await settle()
    expect(runs).toHaveLength(1)
    expect(runs[0]!.terms.owner.gone?.code).toBe('UNAVAILABLE')
    expect(output.answered).toEqual([])
    expect(pending.outstanding).toBe(0)
  })

  describe('of queries that share passes and slots', () => {
    let answers: (() => void)[]

    const held = (): AsyncRequest => ({
      count: 1,
      run: () =>
        new Promise((resolve) => {
          answers.push(() => resolve({ count: 1, write: () => {} }))
        }),
    })

    beforeEach(() => {
      answers = []
      sizes = new Array(100).fill(10)
    })

    const ask = (kind: number, count: number): void => {
      for (let requestId = 1; requestId <= count; requestId++) {
        pending.add({ kind, requestId, request: held(), deadlineMs: 1000, frameBytes: 10 })
      }
    }

    it.each([
      [KIND.topK, 16],
      [KIND.scan, 2],
    ])('begins only a few of kind %i at a time, and all of them in the end', async (kind, most) => {
      ask(kind, 40)
      for (let answered = 0; answered < 40; answered++) {
        expect(answers.length).toBe(Math.min(40, answered + most))
        answers[answered]!()
        await settle()
      }
      expect(output.answered).toEqual(Array.from({ length: 40 }, (_, i) => i + 1))
      expect(pending.outstanding).toBe(0)
    })

    it('answers a value before top-k queries that came first', async () => {
      ask(KIND.topK, 40)
      pending.add({
        kind: KIND.values,
        requestId: 99,
        request: values(1),
        deadlineMs: 1000,
        frameBytes: 10,
      })
      await settle()
      expect(output.answered).toEqual([99])
    })
  })

  describe('gives the buffers of a request back', () => {
    let released: number

    beforeEach(() => {
      released = 0
      sizes = new Array(100).fill(10)
    })

    const held = (count: number): AsyncRequest => ({ ...values(count), release: () => released++ })

    it('once, after its last answer', async () => {
      add(held(20))
      expect(released).toBe(0)
      for (let i = 0; i < 10; i++) await settle()
      expect(pending.outstanding).toBe(0)
      expect(released).toBe(1)
    })

    it('when its deadline has passed', async () => {
      output.unread = 1024 * KIB
      add(held(1))
      clock.advance(1001)
      output.read()
      await settle()
      expect(released).toBe(1)
    })

    it('when the connection is gone, as soon as no part of it runs', async () => {
      output.unread = 1024 * KIB - 1
      add(held(1000))
      add(held(1))
      expect(runs).toHaveLength(1)
      pending.leave()
      expect(released).toBe(1)
      await settle()
      expect(released).toBe(2)
    })
  })
})
