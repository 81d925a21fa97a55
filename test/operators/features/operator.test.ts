import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import {
  count,
  type FeatureDefinition,
  type FeatureValues,
  lastN,
  max,
  sum,
} from '../../../src/operators/features/definition.ts'
import { FeaturesOperator, type FeatureView } from '../../../src/operators/features/operator.ts'
import { type FeatureOptions, FeaturePlan } from '../../../src/operators/features/plan.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'
import type { Purchase } from './plain-features.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** The start of a day, so that tiles begin there. */
const START = 19_700 * DAY
const VIEW = { queryableName: 'users', as: 'row', missing: -1, readAt: 'event-time' } as const

const definition = {
  clicks_1h: count().over('1h'),
  spent_30d: sum((event: Purchase) => event.price).over('30d'),
}

interface Opened<D> {
  readonly definition: D
  readonly options?: FeatureOptions
  readonly view?: FeatureView
  readonly join?: (event: Purchase, features: FeatureValues<D>) => unknown
  readonly restore?: readonly HarnessSnapshot[]
  readonly subtask?: number
  readonly parallelism?: number
  readonly clock?: ManualClock
  readonly onError?: 'skip'
}

async function openFeatures<D extends FeatureDefinition<Purchase>>({
  definition: given,
  options = {},
  view = VIEW,
  join,
  ...rest
}: Opened<D>) {
  const plan = () => new FeaturePlan<Purchase, D>(given, options)
  const harness = await OperatorHarness.open<Purchase>({
    operator: new FeaturesOperator<Purchase, D>(
      { plan, view, ...(join === undefined ? {} : { join }) },
      true,
    ),
    name: 'Users',
    keys: { selectors: [({ user }: Purchase) => user], serializer: plainKeySerializer() },
    ...rest,
  })
  return {
    harness,
    buy: (user: number, price: number, time: number, film = 'f') =>
      harness.process({ user, film, price, time }, time),
    read: (user: number): unknown => {
      const writer = new ByteWriter()
      plainKeySerializer<number>().write(user, writer)
      const { answers } = harness.keyedState!.answer({
        ...{ kind: 'values', id: 1, queryableName: view.queryableName, keys: [writer.toBytes()] },
      })
      const [answer] = answers
      if (answer?.kind !== 'found') return answer?.kind
      return msgpackSerializer<unknown>().read(new ByteReader(answer.value))
    },
  }
}

describe('queried features', () => {
  it('lose what has left its window without another event of the key', async () => {
    const { buy, read, harness } = await openFeatures({ definition })
    buy(1, 10, START)
    buy(1, 20, START + 30 * MINUTE)
    expect(read(1)).toEqual({ clicks_1h: 2, spent_30d: 30 })
    harness.watermark(START + 61 * MINUTE)
    expect(read(1)).toEqual({ clicks_1h: 1, spent_30d: 30 })
    harness.watermark(START + 2 * HOUR)
    expect(read(1)).toEqual({ clicks_1h: 0, spent_30d: 30 })
    expect(read(2)).toBe('missing')
  })

  it('are those of the wall clock where the view says so', async () => {
    const clock = new ManualClock(START)
    const view = { ...VIEW, readAt: 'now' } as const
    const { buy, read, harness } = await openFeatures({ definition, view, clock })
    buy(1, 10, START)
    harness.advanceTime(59 * MINUTE)
    expect(read(1)).toEqual({ clicks_1h: 1, spent_30d: 10 })
    harness.advanceTime(2 * MINUTE)
    expect(read(1)).toEqual({ clicks_1h: 0, spent_30d: 10 })
    harness.advanceTime(31 * DAY)
    expect(read(1)).toEqual({ clicks_1h: 0, spent_30d: 0 })
  })

  it('are a vector in the order of the definition, with a number for what is missing', async () => {
    const most = { ...definition, most_1h: max((event: Purchase) => event.price).over('1h') }
    const view = { ...VIEW, as: 'vector' } as const
    const { buy, read, harness } = await openFeatures({ definition: most, view })
    buy(1, 2.5, START)
    expect(read(1)).toEqual(Float32Array.of(1, 2.5, 2.5))
    harness.watermark(START + 2 * HOUR)
    expect(read(1)).toEqual(Float32Array.of(0, 2.5, -1))
  })
})

describe('a late event', () => {
  it('belongs to the tile of its time, while a window can reach it', async () => {
    const { buy, read, harness } = await openFeatures({ definition })
    buy(1, 10, START + 20 * DAY)
    harness.watermark(START + 20 * DAY)
    buy(1, 5, START + 20 * DAY - 30 * MINUTE)
    buy(1, 7, START)
    expect(read(1)).toEqual({ clicks_1h: 2, spent_30d: 22 })
    // The tile of 12 hours with the event of 7 leaves, the one with 5 stays.
    harness.watermark(START + 30 * DAY + 13 * HOUR)
    expect(read(1)).toEqual({ clicks_1h: 0, spent_30d: 15 })
  })

  it('is dropped and counted where no window can reach it', async () => {
    const { buy, read, harness } = await openFeatures({ definition })
    buy(1, 10, START + 40 * DAY)
    harness.watermark(START + 40 * DAY)
    buy(1, 5, START)
    expect(read(1)).toEqual({ clicks_1h: 1, spent_30d: 10 })
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })
})

describe('the row of a key', () => {
  it('leaves by a timer when its key had no event for the retention', async () => {
    const options = { retention: '40d' }
    const { buy, read, harness } = await openFeatures({ definition, options })
    buy(1, 10, START)
    buy(2, 10, START)
    buy(1, 10, START + 20 * DAY)
    harness.watermark(START + 40 * DAY)
    expect([read(1), read(2)]).toEqual([{ clicks_1h: 0, spent_30d: 10 }, 'missing'])
    harness.watermark(START + 60 * DAY)
    expect(read(1)).toBe('missing')
    expect(harness.numKeyedStateEntries()).toBe(0)
    expect(harness.numEventTimeTimers()).toBe(0)
  })

  it('stays at the end of the input', async () => {
    const { buy, read, harness } = await openFeatures({ definition })
    buy(1, 10, START)
    harness.endInput()
    expect(read(1)).toEqual({ clicks_1h: 1, spent_30d: 10 })
  })
})

describe('an event of which no feature takes anything', () => {
  it('meets the features of its key, and changes no row', async () => {
    const priced = (event: Purchase): number | null => (event.price > 0 ? event.price : null)
    const given = {
      clicks_1h: count((event: Purchase) => event.price > 0).over('1h'),
      spent_1h: sum(priced).over('1h'),
    }
    const join = ({ user }: Purchase, features: object) => ({ user, ...features })
    const { buy, read, harness } = await openFeatures({ definition: given, join })
    buy(1, 0, START)
    expect(harness.take()).toEqual([{ user: 1, clicks_1h: 0, spent_1h: 0 }])
    expect([read(1), harness.numKeyedStateEntries()]).toEqual(['missing', 0])
    buy(1, 7, START + 1)
    buy(1, 0, START + 30 * MINUTE)
    buy(1, 0, START + 62 * MINUTE)
    expect(harness.take()).toEqual([
      { user: 1, clicks_1h: 0, spent_1h: 0 },
      { user: 1, clicks_1h: 1, spent_1h: 7 },
      { user: 1, clicks_1h: 0, spent_1h: 0 },
    ])
    // The row leaves by the purchase, not by the questions.
    harness.watermark(START + 61 * MINUTE + 37_000)
    expect(harness.numKeyedStateEntries()).toBe(0)
  })
})

describe('features that are restored', () => {
  const last = { ...definition, last: lastN(2, (event: Purchase) => event.film).over('1h') }

  it('go on at another parallelism, with their timers', async () => {
    const { buy, harness } = await openFeatures({ definition: last })
    for (let user = 0; user < 50; user++) buy(user, user, START + user, `f${user}`)
    harness.watermark(START + 50)
    const restore = [await harness.snapshot()]
    const parts = await Promise.all(
      [0, 1, 2].map((subtask) =>
        openFeatures({ definition: last, restore, subtask, parallelism: 3 }),
      ),
    )
    for (let user = 0; user < 50; user++) {
      const owners = parts.filter(({ read }) => read(user) !== 'missing')
      expect(owners).toHaveLength(1)
      owners[0]!.buy(user, 1, START + MINUTE, 'new')
      expect(owners[0]!.read(user)).toEqual({
        ...{ clicks_1h: 2, spent_30d: user + 1, last: ['new', `f${user}`] },
      })
    }
    for (const part of parts) {
      part.harness.watermark(START + 31 * DAY)
      expect(part.harness.numKeyedStateEntries()).toBe(0)
    }
  })

  it('keep what they had where the definition has a feature more, fewer, and another order', async () => {
    const { buy, harness } = await openFeatures({ definition: last })
    buy(1, 10, START)
    const changed = {
      most_1h: max((event: Purchase) => event.price).over('1h'),
      last: last.last,
      spent_30d: last.spent_30d,
    }
    const next = await openFeatures({ definition: changed, restore: [await harness.snapshot()] })
    expect(next.read(1)).toEqual({ most_1h: null, last: ['f'], spent_30d: 10 })
    next.buy(1, 3, START + 1)
    expect(next.read(1)).toEqual({ most_1h: 3, last: ['f', 'f'], spent_30d: 13 })
  })

  it('are refused where a feature of the same name counts otherwise', async () => {
    const { buy, harness } = await openFeatures({ definition })
    buy(1, 10, START)
    const changed = { ...definition, clicks_1h: count().over('2h') }
    await expect(
      openFeatures({ definition: changed, restore: [await harness.snapshot()] }),
    ).rejects.toThrow('feature "clicks_1h" was count/3600000/60000 and is count/7200000/120000 now')
  })
})

describe('an event that cannot be folded', () => {
  it('names operator, key, feature and what to do, and leaves no part of itself', async () => {
    const { buy, read } = await openFeatures({ definition })
    buy(7, 10, START)
    expect(() => buy(7, Number.NaN, START)).toThrow(
      'feature "spent_30d" of operator "Users", key 7, got the number NaN: sum takes a finite number; return null to leave an event out of the feature, or leave such events out with filter before features(...) or with onError(\'skip\')',
    )
    expect(read(7)).toEqual({ clicks_1h: 1, spent_30d: 10 })
  })

  it('is skipped where the operator says so', async () => {
    const { buy, read, harness } = await openFeatures({ definition, onError: 'skip' })
    buy(7, Number.NaN, START)
    buy(7, 1, START)
    expect(read(7)).toEqual({ clicks_1h: 1, spent_30d: 1 })
    expect(harness.metrics.counter('numRecordsFailed').value).toBe(1)
  })

  it('is refused where its time is further ahead of the clock than the features allow', async () => {
    const clock = new ManualClock(START)
    const options = { maxAhead: '1h' }
    const { buy, read } = await openFeatures({ definition, options, clock })
    buy(7, 10, START + HOUR)
    expect(() => buy(7, 1, START + 400 * DAY)).toThrow(
      'an event of operator "Users", key 7, has the time 2025-01-12T00:00:00.000Z, 34560000000 ms ahead of the wall clock, and maxAhead is 3600000 ms',
    )
    expect(read(7)).toEqual({ clicks_1h: 1, spent_30d: 10 })
  })

  it('counts as late without an event time', async () => {
    const { buy, harness } = await openFeatures({ definition })
    buy(7, 1, -1)
    expect(harness.numKeyedStateEntries()).toBe(0)
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })
})
