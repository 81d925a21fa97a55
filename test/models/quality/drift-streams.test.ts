import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { DriftMonitor } from '../../../src/models/quality/drift-monitor.ts'
import { campaignSize } from '../../run/campaign-size.ts'

const USERS = 3000
const A_DAY = 20_000
const LENGTH = campaignSize(120_000, 500_000)
const SEEDS = [1, 2, 3, 4, 5, 6]

/** How the ratings of a stream come: each of any user, or in sessions of a user; and whether evenings are harder to predict. */
interface Kind {
  readonly sessions: boolean
  readonly daily: boolean
}

const KINDS = {
  'independent ratings': { sessions: false, daily: false },
  'sessions of users': { sessions: true, daily: false },
  'days whose error swings by 15 %': { sessions: false, daily: true },
  'sessions, and days': { sessions: true, daily: true },
} as const

/** Squared errors of a stream, given to a monitor as a slot does. Each user has an error of his own. */
class Stream {
  readonly monitor = new DriftMonitor()
  private readonly random
  private readonly levels: Float64Array
  private readonly kind: Kind
  private user = 0
  private left = 0
  private count = 0

  constructor(kind: Kind, seed: number) {
    this.kind = kind
    this.random = seededRandom(seed)
    this.levels = Float64Array.from({ length: USERS }, () => Math.exp(0.5 * this.random.normal()))
  }

  /** Feeds errors times `factor`; returns after how many each alarm came. */
  feed(count: number, factor = 1): readonly number[] {
    const { random, monitor, levels } = this
    const found: number[] = []
    for (let n = 1; n <= count; n++) {
      const timeMs = 1.7e12 + (this.count++ / A_DAY) * 86_400_000
      const wave = Math.sin((2 * Math.PI * this.count) / A_DAY)
      const season = this.kind.daily ? 1 + 0.15 * wave : 1
      const error = factor * levels[this.nextUser()]! * season * random.normal() ** 2
      const before = this.alarms
      monitor.add(Math.min(16, error), { nowMs: () => timeMs }, timeMs)
      if (random.below(4) === 0)
        monitor.addFrozen(Math.min(16, error), { nowMs: () => timeMs }, timeMs)
      for (let alarm = before; alarm < this.alarms; alarm++) found.push(n)
    }
    return found
  }

  get alarms(): number {
    return this.monitor.alarmCount + this.monitor.alarms.better.count
  }

  /** Sessions have 20 ratings in the median, and some have hundreds. */
  private nextUser(): number {
    const { random } = this
    if (this.kind.sessions && this.left-- > 0) return this.user
    this.user = random.below(USERS)
    this.left = Math.round(20 * Math.exp(0.8 * random.normal())) - 1
    return this.user
  }
}

describe.each(Object.entries(KINDS))('drift detectors on %s', (_, kind) => {
  it.each(SEEDS)(
    'raise no alarm where nothing changes, seed %i',
    (seed) => {
      expect(new Stream(kind, seed).feed(LENGTH)).toEqual([])
    },
    120_000,
  )

  it('raise one alarm each after a total turn, within 2,000 ratings', () => {
    for (const seed of SEEDS) {
      const stream = new Stream(kind, seed)
      stream.feed(60_000)
      const found = stream.feed(40_000, 5)
      console.info(`seed ${seed}: ${JSON.stringify(found)}`)
      expect(found, `seed ${seed}`).toHaveLength(2)
      expect(found[1], `seed ${seed}`).toBeLessThan(2000)
    }
  })

  it('raise an alarm of its own where the error without learning falls to half', () => {
    for (const seed of SEEDS) {
      const stream = new Stream(kind, seed)
      stream.feed(60_000)
      const found = stream.feed(20_000, 0.5)
      console.info(`seed ${seed}: ${JSON.stringify(found)}`)
      expect(stream.monitor.alarmCount, `seed ${seed}`).toBe(0)
      expect(stream.monitor.alarms.better.count, `seed ${seed}`).toBe(1)
    }
  })
})

it('a fall of the error of a model that learns is no alarm: it heals itself', () => {
  const stream = new Stream(KINDS['independent ratings'], 1)
  stream.feed(20_000)
  const { monitor } = stream
  const random = seededRandom(2)
  for (let n = 0; n < 20_000; n++) monitor.add(0.3 * random.normal() ** 2, { nowMs: () => n })
  expect(stream.alarms).toBe(0)
})
