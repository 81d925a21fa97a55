import { describe, expect, it } from 'vitest'
import { LearnedErrors } from '../../../src/cli/quickstart/errors.ts'
import { raisedSince } from '../../../src/cli/quickstart/learning-stage.ts'
import type { WeirClient } from '../../../src/client/weir-client.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { NO_ALARMS } from '../../../src/models/quality/drift-monitor.ts'

/** Errors of a job that has learned `ratings(ms)` ratings at a time. */
function errorsOf(ratings: (ms: number) => number): { errors: LearnedErrors; now: () => number } {
  let ms = 0
  const values = async () => {
    const writer = new ByteWriter(64)
    msgpackSerializer().write({ ratings: ratings(ms), mse: 1 }, writer)
    return [{ ok: true, value: writer.toBytes() }]
  }
  const pause = async (more: number): Promise<void> => {
    ms += more
  }
  return { errors: new LearnedErrors({ values } as unknown as WeirClient, pause), now: () => ms }
}

describe('the wait until ratings are learned', () => {
  it('outlasts a report that a busy machine delays by 20 seconds', async () => {
    const { errors, now } = errorsOf((ms) => (ms < 20_000 ? 100 : 200))
    await errors.until(1, 200)
    expect(now()).toBeGreaterThanOrEqual(20_000)
    expect((await errors.total(1)).ratings).toBe(200)
  })

  it('ends where ratings never arrive, and waits for them once', async () => {
    const { errors, now } = errorsOf((ms) => (ms < 40_000 ? 150 : 250))
    await errors.until(1, 200)
    expect(now()).toBeLessThan(35_000)
    const first = now()
    await errors.until(1, 200)
    expect(now()).toBe(first)
    await errors.until(1, 300)
    expect(now()).toBeLessThan(45_000)
  })
})

describe('the detector of the drift', () => {
  it('is the one that has raised an alarm since, whatever the job counts after a restart', () => {
    const alarms = { ...NO_ALARMS, adwin: { count: 1, lastMs: 5000 } }
    expect(raisedSince(4000, alarms)).toBe('ADWIN')
    expect(raisedSince(6000, alarms)).toBeUndefined()
    expect(raisedSince(4000, { ...alarms, 'page-hinkley': { count: 3, lastMs: 4100 } })).toBe(
      'Page-Hinkley',
    )
  })
})
