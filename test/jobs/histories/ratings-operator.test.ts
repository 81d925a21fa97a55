import { expect, it } from 'vitest'
import type { HistoryInput } from '../../../src/jobs/histories/functions.ts'
import { HistoryRatingsOperator } from '../../../src/jobs/histories/ratings-operator.ts'
import { REFUSED } from '../../../src/jobs/learning/refused.ts'
import type { ModelTopicRecord } from '../../../src/models/topic/record.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const recordOf = (line: string | null): ModelTopicRecord => {
  const bytes = new TextEncoder().encode(line ?? '')
  const valueLength = line === null ? -1 : bytes.length
  return { bytes, keyStart: 0, keyLength: -1, valueStart: 0, valueLength }
}

it('a record that is no rating, or whose ids are too long, is refused with its bytes and its place', async () => {
  const operator = new HistoryRatingsOperator(8)
  const harness = await OperatorHarness.open<ModelTopicRecord, HistoryInput>({ operator })
  const lines = ['"a,b",i,3', 'five stars', 'MEAN,i,3', 'u,a-long-item,3', null, 'u, i ,4.5,8']
  for (const [offset, line] of lines.entries()) {
    harness.process(recordOf(line), 5000, { position: { partition: 1, offset } })
  }
  expect(harness.values).toEqual([
    { user: 'a,b', item: 'i', rating: 3, timestamp: -1 },
    { user: 'u', item: 'i', rating: 4.5, timestamp: 8000 },
  ])
  const refused = harness.sideOutput(REFUSED).map(({ value }) => {
    return [new TextDecoder().decode(value.value), value.reason, value.partition, value.offset]
  })
  expect(refused).toEqual([
    ['five stars', 'unparsable', 1, 1],
    ['MEAN,i,3', 'reserved-id', 1, 2],
    ['u,a-long-item,3', 'key-too-long', 1, 3],
    ['', 'unparsable', 1, 4],
  ])
  expect(harness.metrics.snapshot()).toMatchObject({ observationsRefused: 4 })
})

it('a record with a key and no value forgets the user of the key, unless the key is too long', async () => {
  const operator = new HistoryRatingsOperator(8)
  const harness = await OperatorHarness.open<ModelTopicRecord, HistoryInput>({ operator })
  for (const [offset, key] of ['405', 'zoë', 'a-long-user'].entries()) {
    const bytes = new TextEncoder().encode(`..${key}`)
    const record = {
      bytes,
      keyStart: 2,
      keyLength: bytes.length - 2,
      valueStart: 0,
      valueLength: -1,
    }
    harness.process(record, 5000, { position: { partition: 0, offset } })
  }
  expect(harness.values).toEqual([{ user: '405' }, { user: 'zoë' }])
  const refused = harness.sideOutput(REFUSED).map(({ value }) => [value.reason, value.offset])
  expect(refused).toEqual([['key-too-long', 2]])
})
