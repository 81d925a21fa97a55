import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import {
  count,
  distinct,
  type FeatureValues,
  lastN,
  max,
  mean,
  quantile,
  sum,
} from '../../../src/operators/features/definition.ts'
import { StreamHarness } from '../../../src/testing/stream-harness.ts'
import { exportFeatures } from '../../../src/training/features/export.ts'
import { writeFeatureExamples } from '../../../src/training/features/write-examples.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'
import { inWindow, lowerQuantile, type Purchase } from '../../operators/features/plain-features.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const DAY = 86_400_000
const WEEK = { windowMs: 7 * DAY, tiles: 60 }
const MONTH = { windowMs: 90 * DAY, tiles: 60 }

const definition = {
  clicks_7d: count().over('7d'),
  spent_7d: sum((event: Purchase) => event.price).over('7d'),
  mean_90d: mean((event: Purchase) => event.price).over('90d'),
  dearest_7d: max((event: Purchase) => event.price).over('7d'),
  films_90d: distinct((event: Purchase) => event.film).over('90d'),
  median_90d: quantile(0.5, (event: Purchase) => event.price).over('90d'),
  last: lastN(2, (event: Purchase) => event.film).over('90d'),
}

const options = {
  keyOf: ({ user }: Purchase) => user,
  timeOf: ({ time }: Purchase) => time,
}

/** Events of a year and labels among them, some in the very millisecond of an event. */
function yearOf(users: number, events: number) {
  const random = seededRandom(commitSeed())
  const purchases = Array.from({ length: events }, () => ({
    user: random.below(users),
    film: `f${random.below(30)}`,
    price: random.below(500),
    time: 1_700_000_000_000 + Math.floor(random.next() * 365 * DAY),
  }))
  const labels = Array.from({ length: users * 20 }, (_, n) => {
    const beside = purchases[random.below(events)]!
    const time = n % 2 === 0 ? beside.time : beside.time + random.below(30 * DAY)
    return { key: beside.user, time, label: n % 3 }
  })
  return { purchases, labels }
}

describe('an export of features', () => {
  it('has for each label what a search in the list of events finds strictly before it', async () => {
    const { purchases, labels } = yearOf(20, 4_000)
    const examples = await exportFeatures(definition, purchases, labels, options)
    expect(examples).toHaveLength(labels.length)
    for (const [n, { key, time, label, features }] of examples.entries()) {
      expect({ key, time, label }).toEqual(labels[n])
      const before = purchases.filter((event) => event.user === key && event.time < time)
      const week = inWindow(before, WEEK, time)
      const month = inWindow(before, MONTH, time)
      const prices = month.map(({ price }) => price)
      const { films_90d, median_90d, ...exact } = features
      expect(exact).toEqual({
        clicks_7d: week.length,
        spent_7d: week.reduce((total, { price }) => total + price, 0),
        mean_90d: prices.length === 0 ? null : prices.reduce((a, b) => a + b, 0) / prices.length,
        dearest_7d: week.length === 0 ? null : Math.max(...week.map(({ price }) => price)),
        last: before
          .filter((event) => event.time >= time - MONTH.windowMs)
          .toSorted((a, b) => b.time - a.time)
          .slice(0, 2)
          .map(({ film }) => film),
      })
      const films = new Set(month.map(({ film }) => film)).size
      expect(Math.abs(films_90d - films)).toBeLessThanOrEqual(3)
      if (prices.length === 0) expect(median_90d).toBeNull()
      else {
        const median = lowerQuantile(prices, 0.5)
        expect(Math.abs(median_90d! - median)).toBeLessThanOrEqual(0.0101 * median)
      }
    }
  })

  it('has what the operator has seen before each event, sketches included', async () => {
    const purchases = yearOf(5, 2_000)
      .purchases.toSorted((a, b) => a.time - b.time)
      .map((purchase, n) => ({ ...purchase, time: purchase.time + n }))
    const harness = await StreamHarness.open<[Purchase], FeatureValues<typeof definition>>(
      (stream) =>
        stream
          .keyBy(({ user }) => user)
          .features(definition)
          .join((_, features) => features),
    )
    for (const purchase of purchases) {
      harness.process(purchase, purchase.time)
      harness.watermark(purchase.time - 1)
    }
    const labels = purchases.map(({ user, time }) => ({ key: user, time, label: 0 }))
    const examples = await exportFeatures(definition, purchases, labels, options)
    expect(examples.map(({ features }) => features)).toEqual(harness.values)
  })

  it('refuses events and labels without a key or a time, by their number', async () => {
    const label = { key: 1, time: 5, label: 1 }
    const event = { user: 1, film: 'f', price: 1, time: -1 }
    await expect(exportFeatures(definition, [event], [label], options)).rejects.toThrow(
      'event 0 of exportFeatures, key 1, has the number -1 as its time, not a whole number of ms from 1970 to 2106',
    )
    const without = { key: null as unknown as number, time: 5, label: 1 }
    await expect(exportFeatures(definition, [], [label, without], options)).rejects.toThrow(
      'label 1 of exportFeatures has null as its key',
    )
    const dear = { ...event, price: Number.POSITIVE_INFINITY, time: 1 }
    await expect(exportFeatures(definition, [dear], [label], options)).rejects.toThrow(
      'feature "spent_7d" of exportFeatures, key 1, got the number Infinity',
    )
  })
})

describe('a file of examples', () => {
  const examplesOf = async (labelOf: (label: number) => unknown = (label) => label) => {
    const { purchases, labels } = yearOf(3, 400)
    const given = labels.map(({ label, ...rest }) => ({ ...rest, label: labelOf(label) }))
    return exportFeatures(definition, purchases, given, options)
  }

  it('has an object a line', async () => {
    const examples = await examplesOf()
    const path = join(temporaryFolder(), 'examples.jsonl')
    await writeFeatureExamples(path, examples)
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(examples)
  })

  it.each([
    ['numbers', (label: number) => label / 2],
    ['texts', (label: number) => `label ${label}`],
    ['booleans', (label: number) => label === 1],
    ['nulls', (label: number) => (label === 1 ? null : label)],
  ])('is read by another library, as Parquet, where labels are %s', async (_, labelOf) => {
    const examples = await examplesOf(labelOf)
    const path = join(temporaryFolder(), 'examples.parquet')
    await writeFeatureExamples(path, examples)
    const file = readFileSync(path)
    const rows = await parquetReadObjects({
      file: file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer,
    })
    expect(rows).toEqual(
      examples.map(({ key, time, label, features: { last, ...numbers } }) => ({
        ...{ key, time: new Date(time), label },
        ...numbers,
        last: JSON.stringify(last),
      })),
    )
  })

  it('is refused where its name or its columns say nothing', async () => {
    const examples = await examplesOf((label) => (label === 1 ? 'one' : label))
    const folder = temporaryFolder()
    await expect(writeFeatureExamples(join(folder, 'a.parquet'), examples)).rejects.toThrow(
      'the column "label" has values of the types',
    )
    await expect(writeFeatureExamples(join(folder, 'a.csv'), examples)).rejects.toThrow(
      'writeFeatureExamples writes .jsonl and .parquet',
    )
  })
})
