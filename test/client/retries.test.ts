import { describe, expect, it } from 'vitest'
import { resolveClientOptions } from '../../src/client/options.ts'
import { Retries } from '../../src/client/retries.ts'
import { WeirError } from '../../src/core/errors.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'

const OVERLOADED = new WeirError('OVERLOADED', 'busy')
const UNAVAILABLE = new WeirError('UNAVAILABLE', 'no server')

function retriesOf(maxAttempts = 5) {
  const clock = new ManualClock()
  const random = { next: () => 0.5, below: () => 0, normal: () => 0 }
  const retry = { maxAttempts, baseMs: 4, maxMs: 8 }
  const options = resolveClientOptions({ clock, random: random as never, retry })
  return { clock, retries: new Retries(options) }
}

/** The tries of `run`, each of which takes the next error; then a result. */
function failing(...errors: readonly WeirError[]) {
  const hints: (string | undefined)[] = []
  const work = async (hint: string | undefined): Promise<string> => {
    const error = errors[hints.length]
    hints.push(hint)
    if (error !== undefined) throw error
    return 'done'
  }
  return { hints, work }
}

/** Lets the clock go on until the promise is settled. */
async function settle<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false
  const settled = promise.finally(() => {
    isSettled = true
  })
  settled.catch(() => {})
  while (!isSettled) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(1)
  }
  return await settled
}

describe('retries', () => {
  it('try again until a try succeeds', async () => {
    const { clock, retries } = retriesOf()
    const { hints, work } = failing(OVERLOADED, OVERLOADED)
    expect(await settle(clock, retries.run(1000, work))).toBe('done')
    expect(hints).toHaveLength(3)
  })

  it('end with the error of the last try', async () => {
    const { clock, retries } = retriesOf(2)
    const { hints, work } = failing(OVERLOADED, OVERLOADED, OVERLOADED)
    await expect(settle(clock, retries.run(1000, work))).rejects.toBe(OVERLOADED)
    expect(hints).toHaveLength(2)
  })

  it('count a try that has failed before', async () => {
    const { clock, retries } = retriesOf(2)
    const { hints, work } = failing(OVERLOADED)
    await expect(settle(clock, retries.run(1000, work, OVERLOADED))).rejects.toBe(OVERLOADED)
    expect(hints).toHaveLength(1)
  })

  it('end with RESTORING when the job still restores at the deadline', async () => {
    const { clock, retries } = retriesOf(2)
    const restoring = new WeirError('RESTORING', 'not yet')
    const { hints, work } = failing(...Array.from({ length: 50 }, () => restoring))
    await expect(settle(clock, retries.run(20, work))).rejects.toBe(restoring)
    expect(hints.length).toBeGreaterThan(2)
  })

  it('end with DEADLINE_EXCEEDED and its cause when no server could be reached in time', async () => {
    const { clock, retries } = retriesOf()
    const { work } = failing(...Array.from({ length: 50 }, () => UNAVAILABLE))
    await expect(settle(clock, retries.run(20, work))).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      cause: UNAVAILABLE,
      details: { lastError: 'UNAVAILABLE' },
    })
  })

  it('say why the tries before failed where the last one had no time for an answer', async () => {
    const { clock, retries } = retriesOf()
    const waits = new WeirError('RESTORING', 'version 1 is published, not promoted')
    const { work } = failing(waits, waits, new WeirError('DEADLINE_EXCEEDED', 'within 3 ms'))
    await expect(settle(clock, retries.run(1000, work))).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringContaining('version 1 is published, not promoted'),
      cause: waits,
      details: { lastError: 'RESTORING' },
    })
  })

  it('ask the server that a NOT_OWNER answer names', async () => {
    const { clock, retries } = retriesOf()
    const details = { endpoint: 'other:9071' }
    const { hints, work } = failing(new WeirError('NOT_OWNER', 'elsewhere', { details }))
    expect(await settle(clock, retries.run(1000, work))).toBe('done')
    expect(hints).toEqual([undefined, 'other:9071'])
  })

  it('end when the client closes', async () => {
    const { clock, retries } = retriesOf()
    const { hints, work } = failing(UNAVAILABLE, UNAVAILABLE)
    const result = retries.run(1000, work)
    await new Promise((resolve) => setImmediate(resolve))
    retries.close()
    await expect(settle(clock, result)).rejects.toBe(UNAVAILABLE)
    expect(hints).toHaveLength(1)
  })
})
