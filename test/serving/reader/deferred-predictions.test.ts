import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DeferredPredictions } from '../../../src/serving/port/query-backend.ts'
import type { LocalModelReader } from '../../../src/serving/reader/model-reader.ts'
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
