import { expect, it } from 'vitest'
import {
  type TaggedItem,
  TagLinesOperator,
} from '../../../src/jobs/als-serving/tag-lines-operator.ts'
import { REFUSED } from '../../../src/jobs/learning/refused.ts'
import type { ModelTopicRecord } from '../../../src/models/topic/record.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const encoder = new TextEncoder()

const recordOf = (line: string | Uint8Array | null): ModelTopicRecord => {
  const bytes = typeof line === 'string' ? encoder.encode(line) : (line ?? new Uint8Array(0))
  const valueLength = line === null ? -1 : bytes.length
  return { bytes, keyStart: 0, keyLength: -1, valueStart: 0, valueLength }
}

it('a line has an item and all of its tags; what is none is refused with its place', async () => {
  const operator = new TagLinesOperator(10)
  const harness = await OperatorHarness.open<ModelTopicRecord, TaggedItem>({ operator })
  const lines = [
    '17,DE;SOLD_OUT',
    ' 18 , DE ;DE;; FR\r\n',
    '19,',
    'a,b,DE',
    'no comma',
    ',DE',
    null,
    'MEAN,DE',
    'nine-long,DE',
    `20,${'x'.repeat(65)}`,
    Uint8Array.of(0x31, 0x2c, 0xff),
  ]
  for (const [offset, line] of lines.entries()) {
    harness.process(recordOf(line), 5000, { position: { partition: 1, offset } })
  }
  expect(harness.values).toEqual([
    { item: '17', tags: ['DE', 'SOLD_OUT'] },
    { item: '18', tags: ['DE', 'FR'] },
    { item: '19', tags: [] },
    { item: 'a,b', tags: ['DE'] },
  ])
  const refused = harness
    .sideOutput(REFUSED)
    .map(({ value: { reason, partition, offset } }) => [reason, partition, offset])
  expect(refused).toEqual([
    ['unparsable', 1, 4],
    ['unparsable', 1, 5],
    ['unparsable', 1, 6],
    ['reserved-id', 1, 7],
    ['key-too-long', 1, 8],
    ['key-too-long', 1, 9],
    ['unparsable', 1, 10],
  ])
})
