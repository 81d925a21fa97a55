import { expect, it } from 'vitest'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { TagBitsFunction, type TagRow } from '../../../src/jobs/als-serving/tag-functions.ts'
import type { TaggedItem } from '../../../src/jobs/als-serving/tag-lines-operator.ts'
import { REFUSED } from '../../../src/jobs/learning/refused.ts'
import { KeyedProcessOperator } from '../../../src/operators/process/keyed-process.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

async function tagBits(): Promise<OperatorHarness<TaggedItem, TagRow>> {
  return await OperatorHarness.open<TaggedItem, TagRow>({
    operator: new KeyedProcessOperator(new TagBitsFunction(), stringSerializer, false),
    keys: { selectors: [() => ''], serializer: stringSerializer },
  })
}

it('a tag gets a bit when it first comes, and keeps it', async () => {
  const harness = await tagBits()
  harness.process({ item: 'a', tags: ['DE', 'FR'] })
  harness.process({ item: 'b', tags: ['FR'] })
  harness.process({ item: 'a', tags: [] })
  expect(harness.values).toEqual([
    { key: 'DE-T', floats: [0] },
    { key: 'FR-T', floats: [1] },
    { key: 'a-I', floats: [3, 0, 0, 0] },
    { key: 'b-I', floats: [2, 0, 0, 0] },
    { key: 'a-I', floats: [0, 0, 0, 0] },
  ])
})

it('an item with a 65th tag is refused as a whole, and items with the others go on', async () => {
  const harness = await tagBits()
  const tags = Array.from({ length: 64 }, (_, i) => `t${i}`)
  harness.process({ item: 'a', tags })
  const before = harness.values.length
  harness.process({ item: 'b', tags: ['t1', 'one-more'] })
  harness.process({ item: 'c', tags: ['t63'] })
  expect(harness.values.slice(before)).toEqual([{ key: 'c-I', floats: [0, 0, 0, 2 ** 15] }])
  const refused = harness.sideOutput(REFUSED).map(({ value }) => {
    return [new TextDecoder().decode(value.value), value.reason]
  })
  expect(refused).toEqual([['b,t1;one-more', 'too-many-tags']])
  expect(harness.metrics.snapshot()).toMatchObject({ tagsRefused: 1 })
})
