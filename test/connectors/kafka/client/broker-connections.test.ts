import { describe, expect, it } from 'vitest'
import { BrokerOutage } from '../../../../src/connectors/kafka/client/broker-connections.ts'
import { WeirError } from '../../../../src/core/errors.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'

const REFUSED = new WeirError('CONNECTOR_FAILED', 'no connection to Kafka at k1:9092: refused')
/** 12:00:00 UTC. */
const NOON_MS = 12 * 3_600_000

/** An outage with an attempt each second; each attempt fails at once. */
function bench() {
  const clock = new ManualClock(NOON_MS)
  const said: string[] = []
  const outage = new BrokerOutage(clock, ({ message }) =>
    said.push(`${clock.monotonicMs()} ${message}`),
  )
  const fail = (seconds: number): void => {
    for (let i = 0; i < seconds; i++) {
      outage.failed(clock.monotonicMs(), REFUSED)
      clock.advance(1_000)
    }
  }
  return { clock, said, outage, fail }
}

describe('an outage of all brokers', () => {
  it('is said within 5 s with the address and the cause, and again with growing pauses', () => {
    const { said, outage, fail } = bench()
    fail(26)
    expect(said).toEqual(
      [3, 6, 12, 24].map(
        (s) =>
          `${s}000 waiting for Kafka since 12:00:00 UTC, for ${s} s or more: no connection to Kafka at k1:9092: refused; work goes on when a broker answers`,
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

  it('is over when a broker answers, which is said if the outage was', () => {
    const { said, outage, fail } = bench()
    fail(2)
    outage.ended()
    expect([said.length, outage.lastsMs]).toEqual([0, 0])
    fail(5)
    outage.ended()
    expect(said.at(-1)).toBe('7000 Kafka can be reached again, after a wait since 12:00:02 UTC')
    outage.ended()
    expect(said).toHaveLength(2)
    // The next one begins anew.
    fail(4)
    expect(said.at(-1)).toMatch(/^10000 waiting for Kafka since 12:00:07 UTC, for 3 s/)
  })
})
