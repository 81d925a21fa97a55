import { describe, expect, it } from 'vitest'
import { modelVersion } from '../../../src/core/model-version.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { ItemCountsFunction, KnownItemsFunction } from '../../../src/jobs/histories/functions.ts'
import { countsState, ITEM_COUNTS, USER_COUNTS } from '../../../src/jobs/histories/states.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { KeyedProcessOperator } from '../../../src/operators/process/keyed-process.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

async function knownItems(): Promise<OperatorHarness<Rating, string>> {
  return await OperatorHarness.open<Rating, string>({
    operator: new KeyedProcessOperator(new KnownItemsFunction(8), stringSerializer, false),
    keys: { selectors: [({ user }: Rating) => user], serializer: stringSerializer },
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
    expect(harness.outputs.map(({ value }) => value)).toEqual(['a', 'b', 'a'])
    const counts = harness.keyedState!.vector(countsState(USER_COUNTS, 8))
    const count = (user: string) => counts.get(modelVersion(1), bytes(user))?.vector[0]
    expect([count('u'), count('v'), count('w')]).toEqual([2, 1, undefined])
  })
})

it('users of an item are counted', async () => {
  const harness = await OperatorHarness.open<string>({
    operator: new KeyedProcessOperator(new ItemCountsFunction(8), stringSerializer, false),
    keys: { selectors: [(item: string) => item], serializer: stringSerializer },
  })
  for (const item of ['a', 'b', 'a']) harness.process(item)
  const counts = harness.keyedState!.vector(countsState(ITEM_COUNTS, 8))
  expect(counts.get(modelVersion(1), bytes('a'))?.vector[0]).toBe(2)
})
