import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import type { InferenceEngine } from '../../../src/inference/port/engine.ts'
import { RequestOwner } from '../../../src/serving/port/request-owner.ts'
import { LONGEST_BLOCK_MS, untilPasses } from '../../run/until.ts'
import { floats } from './models.ts'

const id = { name: 'doubling', version: 1 }
/** Requests that wait or run. */
const CAPACITY = 8

let engine: InferenceEngine
let words: Int32Array
let open: () => void

beforeEach(async () => {
  engine = openInferenceEngine()
  words = new Int32Array(new SharedArrayBuffer(8))
  open = () => {
    Atomics.store(words, 0, 1)
    Atomics.notify(words, 0)
  }
  const module = join(import.meta.dirname, 'function-models.ts')
  const source = { kind: 'function', module, export: 'gated', options: words.buffer } as const
  const settings = { sloMs: 60_000, overtimeMs: 60_000, queueCapacity: CAPACITY, maxBatchItems: 1 }
  await engine.load(id, source, settings)
  // The first one runs until the test opens the gate.
  void asks(undefined, 1)
  await untilPasses(() => expect(Atomics.load(words, 1)).toBe(1))
})

afterEach(async () => {
  open()
  await engine[Symbol.asyncDispose]()
})

/** What becomes of so many requests of one connection: an answer, or the code of the error. */
function asks(asker: RequestOwner | undefined, count: number): Promise<string>[] {
  return Array.from({ length: count }, async () => {
    const inputs = [floats('x', [1], [1])]
    const asked = engine.infer({ model: id, inputs, asker })
    return await asked.then(
      () => 'answered',
      ({ code }) => code as string,
    )
  })
}

const countOf = (outcomes: readonly string[], outcome: string): number =>
  outcomes.filter((one) => one === outcome).length

it('a full queue has room for a connection that has fewer requests in it than another one', async () => {
  const [greedy, good] = [new RequestOwner(), new RequestOwner()]
  const many = asks(greedy, 20)
  const few = asks(good, 3)
  // As many as the other has by now: no more room is made.
  const further = asks(good, 3)
  open()
  const outcomes = await Promise.all(many)
  expect(countOf(outcomes, 'answered')).toBe(4)
  expect(countOf(outcomes, 'OVERLOADED')).toBe(16)
  expect(await Promise.all(few)).toEqual(['answered', 'answered', 'answered'])
  expect(await Promise.all(further)).toEqual(['OVERLOADED', 'OVERLOADED', 'OVERLOADED'])
})

it('calls of one connection count together, and requests of the process itself give way to none', async () => {
  const connection = {}
  const own = asks(undefined, 4)
  const many = Array.from({ length: 5 }, () => asks(new RequestOwner({ group: connection }), 1)[0]!)
  const good = asks(new RequestOwner(), 1)
  open()
  expect(await Promise.all(own)).toEqual(Array(4).fill('answered'))
  expect(await good[0]).toBe('answered')
  expect(countOf(await Promise.all(many), 'answered')).toBe(2)
})

it('a request has the room of answers that came while its thread was busy', async () => {
  const many = asks(new RequestOwner(), CAPACITY - 1)
  open()
  const giveUpAt = performance.now() + LONGEST_BLOCK_MS
  // This thread gets no answer meanwhile: it is busy.
  while (Atomics.load(words, 1) < CAPACITY && performance.now() < giveUpAt);
  expect(await Promise.all([...many, ...asks(new RequestOwner(), 1)])).toEqual(
    Array(CAPACITY).fill('answered'),
  )
})
