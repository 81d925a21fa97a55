import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { Adwin } from '../../../src/models/quality/adwin.ts'
import { DriftMonitor, joinedAlarms, NO_ALARMS } from '../../../src/models/quality/drift-monitor.ts'
import { PageHinkley } from '../../../src/models/quality/page-hinkley.ts'
import { campaignSize } from '../../run/campaign-size.ts'

const USERS = 2000
const ITEMS = 500
const FACTORS = 6

/** Ratings 1 to 5 of hidden rows with noise, a model that learns them with SGD, and the model before. */
class Stream {
  readonly monitor = new DriftMonitor()
  private learned = 0
  private readonly clock = { nowMs: () => this.learned }
  private readonly random
  private readonly truth: Float64Array[]
  private readonly model: Float64Array[]
  private readonly frozen: Float64Array[]

  constructor(seed: number) {
    this.random = seededRandom(seed)
    const row = (): Float64Array =>
      Float64Array.from({ length: FACTORS }, () => 0.6 * this.random.normal())
    this.truth = Array.from({ length: USERS + ITEMS }, row)
    this.model = this.truth.map((each) => each.map((value) => value + 0.1 * this.random.normal()))
    this.frozen = this.model.map((each) => each.slice())
  }

  /** Streams ratings; all of them are turned to 6 - rating if `turned`. Stops at an alarm of either. */
  feed(count: number, turned: boolean): number {
    const { random, truth, model, frozen, monitor } = this
    const score = (rows: Float64Array[], user: number, item: number): number => {
      let sum = 3
      for (let f = 0; f < FACTORS; f++) sum += rows[user]![f]! * rows[USERS + item]![f]!
      return Math.min(5, Math.max(1, sum))
    }
    for (let n = 1; n <= count; n++) {
      const [user, item] = [random.below(USERS), random.below(ITEMS)]
      const honest = Math.min(
        5,
        Math.max(1, Math.round(score(truth, user, item) + 0.5 * random.normal())),
      )
      const rating = turned ? 6 - honest : honest
      const error = rating - score(model, user, item)
      monitor.add(error * error, this.clock)
      if (user % 8 === 0) {
        const stale = rating - score(frozen, user, item)
        monitor.addFrozen(stale * stale, this.clock)
      }
      const [p, q] = [model[user]!, model[USERS + item]!]
      for (let f = 0; f < FACTORS; f++) {
        const old = p[f]!
        p[f] = old + 0.02 * (error * q[f]! - 0.02 * old)
        q[f] = q[f]! + 0.02 * (error * old - 0.02 * q[f]!)
      }
      this.learned++
      const { alarms } = monitor
      if (alarms.adwin.count + alarms['page-hinkley'].count > 0) return n
    }
    return -1
  }
}

describe('the drift monitor', () => {
  it('raises no alarm on stationary ratings, and one within 2,000 after a total turn', () => {
    const stream = new Stream(11)
    expect(stream.feed(campaignSize(100_000, 500_000), false)).toBe(-1)
    const delay = stream.feed(2000, true)
    console.info(`alarm after ${delay} turned ratings: ${JSON.stringify(stream.monitor.alarms)}`)
    expect(delay).toBeGreaterThan(0)
  }, 60_000)

  it.each([1, 2, 3, 4, 5])('finds a total turn of a young stream too, seed %d', (seed) => {
    const stream = new Stream(seed)
    expect(stream.feed(5000, false)).toBe(-1)
    expect(stream.feed(2000, true)).toBeGreaterThan(0)
  })

  it('keeps its alarms over a restart, and joins those of several slots', () => {
    const monitor = new DriftMonitor()
    for (let n = 0; n < 5000; n++) monitor.add(n < 4000 ? n % 2 : 9 + (n % 2), { nowMs: () => n })
    expect([monitor.alarms.adwin.count, monitor.alarms['page-hinkley'].count]).toEqual([1, 1])
    const again = new DriftMonitor()
    const writer = new ByteWriter()
    monitor.write(writer)
    again.join(new ByteReader(writer.toBytes()))
    expect(again.alarms).toEqual(monitor.alarms)
    const { adwin } = joinedAlarms([monitor.alarms, NO_ALARMS, again.alarms])
    expect(adwin).toEqual({
      count: 2 * monitor.alarms.adwin.count,
      lastMs: monitor.alarms.adwin.lastMs,
    })
  })

  it('has bytes that never change', () => {
    const monitor = new DriftMonitor()
    for (const error of [1, 3]) monitor.add(error, { nowMs: () => 0 }, 5000)
    const writer = new ByteWriter()
    monitor.write(writer)
    const whole = (number: number) => Buffer.from(Uint32Array.of(number).buffer)
    const floats = (...numbers: number[]) => Buffer.from(Float64Array.from(numbers).buffer)
    const zeros = (count: number) => Buffer.alloc(8 * count)
    const reference = [floats(0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY), zeros(30)]
    const newest = [zeros(1), whole(0), whole(0)]
    const adwin = [whole(0), whole(0), zeros(2), Buffer.of(1, 0)]
    const watch = (...detector: Buffer[]) => [...reference, ...newest, ...detector]
    const pageHinkley = [whole(0), zeros(7)]
    expect(Buffer.from(writer.toBytes()).toString('hex')).toBe(
      Buffer.concat([
        // A format, and the alarms of adwin, page-hinkley and better.
        floats(-1, 0, -1, 0, -1, 0, -1),
        // The batch of the model that learns, and its detectors; those of the frozen one.
        ...[floats(4, 2, 5000), ...watch(...adwin), ...watch(...pageHinkley)],
        ...[floats(0, 0, -1), ...watch(...adwin), ...watch(...pageHinkley), ...watch(...adwin)],
      ]).toString('hex'),
    )
  })

  it('reads the alarms of a build that gave detectors errors one by one', () => {
    const writer = new ByteWriter()
    for (const number of [3, 70, 2, 80]) writer.float64(number)
    for (let stream = 0; stream < 2; stream++) {
      const detectors = [new Adwin(), new PageHinkley()]
      for (const detector of detectors) {
        for (let n = 0; n < 1000; n++) detector.add(n % 3)
        detector.write(writer)
      }
    }
    writer.float64(17)
    const monitor = new DriftMonitor()
    const reader = new ByteReader(writer.toBytes())
    monitor.join(reader)
    expect(monitor.alarms).toEqual({
      adwin: { count: 3, lastMs: 70 },
      'page-hinkley': { count: 2, lastMs: 80 },
      better: { count: 0, lastMs: -1 },
    })
    // What comes behind it in a checkpoint is where it was.
    expect(reader.float64()).toBe(17)
  })
})
