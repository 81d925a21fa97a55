import { describe, expect, it } from 'vitest'
import { modelVersion } from '../../../src/core/model-version.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import {
  type CountedItem,
  type HistoryInput,
  ItemCountsFunction,
  KnownItemsFunction,
} from '../../../src/jobs/histories/functions.ts'
import { countsState, ITEM_COUNTS, USER_COUNTS } from '../../../src/jobs/histories/states.ts'
import { KeyedProcessOperator } from '../../../src/operators/process/keyed-process.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

async function knownItems(): Promise<OperatorHarness<HistoryInput, CountedItem>> {
  return await OperatorHarness.open<HistoryInput, CountedItem>({
    operator: new KeyedProcessOperator(new KnownItemsFunction(8), stringSerializer, false),
    keys: { selectors: [({ user }: HistoryInput) => user], serializer: stringSerializer },
  })
}

describe('known items', () => {
  it('are counted once for each item of a user, and the last rating stays', async () => {
    const harness = await knownItems()
    const rate = (user: string, item: string, rating: number) =>
      harness.process({ user, item, rating, timestamp: -1 })
    for (const [user, item, rating] of [
      ['u', 'a', 1],
      ['u', 'b', 2],
      ['v', 'a', 3],
      ['u', 'a', 5],
    ] as const) {
      rate(user, item, rating)
    }
    expect(harness.values.map(({ item, by }) => [item, by])).toEqual([
      ['a', 1],
      ['b', 1],
      ['a', 1],
    ])
    const counts = harness.keyedState!.vector(countsState(USER_COUNTS, 8))
    const count = (user: string) => counts.get(modelVersion(1), bytes(user))?.vector[0]
    expect([count('u'), count('v'), count('w')]).toEqual([2, 1, undefined])
  })

  it('of a user who is forgotten are gone, each is counted off, and those of others stay', async () => {
    const harness = await knownItems()
    const rate = (user: string, item: string) =>
      harness.process({ user, item, rating: 4, timestamp: -1 })
    for (const user of ['u', 'v']) for (const item of ['a', 'b']) rate(user, item)
    const before = harness.values.length
    harness.process({ user: 'u' })
    const counted = harness.values.slice(before).map(({ item, by }) => `${item} ${by}`)
    expect(counted.toSorted()).toEqual(['a -1', 'b -1'])
    const counts = harness.keyedState!.vector(countsState(USER_COUNTS, 8))
    const count = (user: string) => counts.get(modelVersion(1), bytes(user))?.vector[0]
    expect([count('u'), count('v')]).toEqual([undefined, 2])
    // A second time, as of each partition of the topic, there is nothing to count off.
    harness.process({ user: 'u' })
    harness.process({ user: 'stranger' })
    expect(harness.values).toHaveLength(before + 2)
    // What comes later is a new user's.
    rate('u', 'a')
    expect(harness.values.at(-1)).toEqual({ item: 'a', by: 1 })
    expect(count('u')).toBe(1)
  })
})

it('users of an item are counted, and an item without any has no row', async () => {
  const harness = await OperatorHarness.open<CountedItem>({
    operator: new KeyedProcessOperator(new ItemCountsFunction(8), stringSerializer, false),
    keys: { selectors: [({ item }: CountedItem) => item], serializer: stringSerializer },
  })
  for (const item of ['a', 'b', 'a']) harness.process({ item, by: 1 })
  const counts = harness.keyedState!.vector(countsState(ITEM_COUNTS, 8))
  const count = (item: string) => counts.get(modelVersion(1), bytes(item))?.vector[0]
  expect(count('a')).toBe(2)
  for (const item of ['a', 'b']) harness.process({ item, by: -1 })
  expect([count('a'), count('b')]).toEqual([1, undefined])
})
