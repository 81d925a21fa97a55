import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import { Outage } from '../../../src/core/lifetime/outage.ts'
import { type WaitChange, waitIn } from '../../../src/core/lifetime/wait.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const REFUSED = new WeirError('CONNECTOR_FAILED', 'no connection to Kafka at k1:9092: refused')
/** 12:00:00 UTC. */
const NOON_MS = 12 * 3_600_000

/** An outage with an attempt each second; each attempt fails at once. */
function bench() {
  const clock = new ManualClock(NOON_MS)
  const said: string[] = []
  const waits: (WaitChange | undefined)[] = []
  const outage = new Outage('Kafka', clock, ({ message, details }) => {
    said.push(`${clock.monotonicMs()} ${message}`)
    waits.push(waitIn(details))
  })
  const fail = (seconds: number): void => {
    for (let i = 0; i < seconds; i++) {
      outage.failed(clock.monotonicMs(), REFUSED)
      clock.advance(1_000)
    }
  }
  return { clock, said, waits, outage, fail }
}

describe('an outage of a service', () => {
  it('is said within 5 s with the address and the cause, and again with growing pauses', () => {
    const { said, outage, fail } = bench()
    fail(26)
    expect(said).toEqual(
      [3, 6, 12, 24].map(
        (s) =>
          `${s}000 waiting for Kafka since 12:00:00 UTC, for ${s} s or more: no connection to Kafka at k1:9092: refused; work goes on when it answers`,
      ),
    )
    expect(outage.lastsMs).toBe(26_000)
    // At most 5 minutes lie between two of them.
    fail(3_600)
    const times = said.map((line) => Number.parseInt(line, 10))
    expect(Math.max(...times.map((time, i) => time - (times[i - 1] ?? 0)))).toBe(300_000)
  })

  it('is said by the first attempt that took longer than that, as one to a silent address', () => {
    const { clock, said, outage } = bench()
    clock.advance(5_000)
    outage.failed(0, REFUSED)
    expect(said).toHaveLength(1)
    expect(said[0]).toMatch(/^5000 waiting for Kafka since 12:00:00 UTC/)
  })

  it('is over when the service answers, which is said if the outage was', () => {
    const { said, waits, outage, fail } = bench()
    fail(2)
    outage.ended()
    expect([said.length, outage.lastsMs]).toEqual([0, 0])
    fail(5)
    outage.ended()
    expect(said.at(-1)).toBe('7000 Kafka can be reached again, after a wait since 12:00:02 UTC')
    outage.ended()
    expect(said).toHaveLength(2)
    // What takes the notices reads in their details when the wait began, why, and that it is over.
    const wait = { waitsFor: 'Kafka', why: REFUSED.message, sinceMs: NOON_MS + 2_000 }
    expect(waits).toEqual([
      { waitsFor: 'Kafka', wait },
      { waitsFor: 'Kafka', wait: undefined },
    ])
    // The next one begins anew.
    fail(4)
    expect(said.at(-1)).toMatch(/^10000 waiting for Kafka since 12:00:07 UTC, for 3 s/)
  })
})
