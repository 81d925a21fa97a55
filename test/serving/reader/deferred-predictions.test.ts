import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DeferredPredictions } from '../../../src/serving/port/query-backend.ts'
import { RequestOwner } from '../../../src/serving/port/request-owner.ts'
import type { LocalModelReader } from '../../../src/serving/reader/model-reader.ts'
import type { QueryOptions } from '../../../src/wire/model-reader.ts'
import { ModelWorld } from '../../contracts/model-reader-world.ts'

const ROWS = 120
const encoder = new TextEncoder()

let world: ModelWorld
let reader: LocalModelReader

beforeEach(() => {
  world = new ModelWorld(true)
  reader = world.reader()
  for (let i = 0; i < ROWS; i++) {
    world.put(`${i}-U`, [i, 1, 0, 0])
    world.put(`${i}-I`, [1, i, 0, 0])
  }
})
afterEach(() => world.close())

/** Pairs as the server defers them: keys in the bytes of a frame, with other bytes between them. */
function deferred(pairs: readonly (readonly [string, string])[]): DeferredPredictions {
  const text = pairs.map(([left, right]) => `#${left}#${right}`).join('')
  const spans: number[] = []
  let at = 0
  for (const key of pairs.flat()) {
    spans.push(at + 1, key.length)
    at += 1 + key.length
  }
  return { bytes: encoder.encode(text), spans }
}

describe('deferred predictions', () => {
  it('ask each slot once for the spilled rows of a state', async () => {
    const pairs = Array.from({ length: ROWS }, (_, i) => [`${i}-U`, `${ROWS - 1 - i}-I`] as const)
    const answers = await reader.predictDeferred('ALS_MODEL', deferred(pairs), {})
    expect(answers.map((answer) => answer.ok && answer.value.score)).toEqual(
      pairs.map(() => ROWS - 1),
    )
    const asked = world.asked.map((request) => request.kind === 'rows' && request.state)
    expect(asked.length).toBeGreaterThan(1)
    expect(asked.length).toBeLessThanOrEqual(4)
  })

  it('have the envelope of a single prediction', async () => {
    const pairs = [['3-U', '9-I'] as const]
    const [answer] = await reader.predictDeferred('ALS_MODEL', deferred(pairs), {})
    expect(answer).toEqual(await reader.predictWithEnvelope('ALS_MODEL', '3-U', '9-I'))
  })

  it('fail or use stand-in rows one by one where a row does not exist', async () => {
    const pairs = [
      ['3-U', '9-I'],
      ['500-U', '9-I'],
      ['4-U', 'no suffix'],
      ['5-U', '9-I'],
    ] as const
    const options = { coldLeft: 'MEAN-U' }
    const answers = await reader.predictDeferred('ALS_MODEL', deferred(pairs), options)
    expect(answers.map((one) => (one.ok ? one.value.score : one.error.code))).toEqual([
      12,
      59.5 + 9,
      'UNKNOWN_KEY',
      14,
    ])
    expect(answers.map((one) => one.ok && one.value.leftCold)).toEqual([false, true, false, false])
  })

  it('read the last checkpoint on request', async () => {
    world.completeCheckpoint()
    for (let i = 0; i < ROWS; i++) world.put(`${i}-U`, [-1, 0, 0, 0])
    const pairs = Array.from({ length: 40 }, (_, i) => [`${i}-U`, '7-I'] as const)
    const consistency = { level: 'checkpoint' } as const
    const answers = await reader.predictDeferred('ALS_MODEL', deferred(pairs), { consistency })
    expect(answers.map((one) => one.ok && one.value.score)).toEqual(pairs.map((_, i) => i + 7))
  })
})

/** Counts what waits for it. */
class CountedOwner extends RequestOwner {
  waits = 0

  override onGone(listener: () => void): () => void {
    this.waits += 1
    return super.onGone(listener)
  }
}

describe('a bound that no slot has reached', () => {
  const consistency = { level: 'at-least', partition: 0, offset: 2 ** 50 } as const
  const keys = Array.from({ length: 100 }, (_, i) => `${i}-U`)
  const pairs = keys.map((key) => [key, key.replace('U', 'I')] as const)

  it('takes one wait for a frame of predictions, and for each slot of rows, and ends with the connection', async () => {
    const owner = new CountedOwner()
    const options = { consistency, deadlineMs: 60_000, owner }
    const predictions = reader.predictDeferred('ALS_MODEL', deferred(pairs), options)
    expect(owner.waits).toBe(1)
    const rows = reader.rows('ALS_MODEL', keys, options)
    expect(owner.waits).toBe(3)
    owner.leave()
    await expect(predictions).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const codes = new Set((await rows).map((answer) => !answer.ok && answer.error.code))
    expect([...codes]).toEqual(['UNAVAILABLE'])
  })

  it('answers predictions together as soon as all their slots have reached it', async () => {
    const bounded = { level: 'at-least', partition: 0, offset: 5 } as const
    const options = { consistency: bounded, deadlineMs: 60_000 }
    const predictions = reader.predictDeferred('ALS_MODEL', deferred(pairs), options)
    world.progress(1_000, Date.now())
    const answers = await predictions
    expect(answers.every((answer) => answer.ok)).toBe(true)
    expect(answers).toHaveLength(100)
  })

  it('fails each prediction and each row at the deadline', async () => {
    const options = { consistency, deadlineMs: 5 }
    const predictions = await reader.predictDeferred('ALS_MODEL', deferred(pairs), options)
    const rows = await reader.rows('ALS_MODEL', keys, options)
    const codes = [...predictions, ...rows].map((answer) => !answer.ok && answer.error.code)
    expect(new Set(codes)).toEqual(new Set(['NOT_UP_TO_BOUND']))
    expect(codes).toHaveLength(200)
  })

  it('answers the keys of a slot that has reached it', async () => {
    world.progress(1_000, Date.now())
    world.board.resetProgress(1)
    const bounded = { level: 'at-least', partition: 0, offset: 5 } as const
    const owner = new RequestOwner()
    const reading = reader.rows('ALS_MODEL', keys, {
      consistency: bounded,
      deadlineMs: 60_000,
      owner,
    } as QueryOptions)
    // Slots of this world answer within the turn in which they are asked.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
    owner.leave()
    const answers = await reading
    const codes = new Set(answers.map((answer) => (answer.ok ? 'answered' : answer.error.code)))
    expect(codes).toEqual(new Set(['answered', 'UNAVAILABLE']))
  })
})
