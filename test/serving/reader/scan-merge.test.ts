import { expect, test } from 'vitest'
import { mergeScanParts, ScanPart } from '../../../src/serving/reader/scan-merge.ts'
import { packSlotQueryReply } from '../../../src/state/catalog/slot-query-message.ts'
import type { SlotQueryAnswer } from '../../../src/state/port/slot-query.ts'

const text = (value: string): Uint8Array => Buffer.from(value)
const found = (key: string): SlotQueryAnswer => ({
  kind: 'found',
  key: text(key),
  value: text(`${key}!`),
})

function part(answers: readonly SlotQueryAnswer[], resume?: string): ScanPart {
  const reply = { id: 1, answers, resume: resume === undefined ? undefined : text(resume) }
  return new ScanPart(packSlotQueryReply(reply), text('a'))
}

function merged(
  parts: readonly ScanPart[],
  limit = 100,
): { keys: string[]; resume: string | undefined } {
  const page = mergeScanParts(parts, limit, (to, entry) => to.add(entry))
  for (const { key, value } of page.toEntries())
    expect(Buffer.from(value).toString()).toBe(`${key}!`)
  return { keys: page.toEntries().map(({ key }) => key), resume: page.resumeText }
}

test('entries of several slots come in the order of their keys', () => {
  const parts = [part([found('a'), found('d')]), part([]), part([found('b'), found('c')])]
  expect(merged(parts)).toEqual({ keys: ['a', 'b', 'c', 'd'], resume: undefined })
  expect(merged([])).toEqual({ keys: [], resume: undefined })
})

test('what lies behind the end of a part waits for the next page', () => {
  const parts = [part([found('a'), found('b')], 'c'), part([found('b2'), found('c'), found('d')])]
  expect(merged(parts)).toEqual({ keys: ['a', 'b', 'b2'], resume: 'c' })
})

test('a full page goes on behind its last entry, an empty one at its first', () => {
  const parts = () => [part([found('a'), found('c')]), part([found('b')], 'x')]
  expect(merged(parts(), 2)).toEqual({ keys: ['a', 'b'], resume: 'b\0' })
  expect(merged(parts(), 3)).toEqual({ keys: ['a', 'b', 'c'], resume: 'x' })
  expect(merged(parts(), 0)).toEqual({ keys: [], resume: 'a' })
})

test('keys are compared as unsigned bytes, and a shorter one comes first', () => {
  const keys = ['k', 'k\x7f', 'kk', 'ä', '\u{1f600}']
  const parts = keys.map((key) => part([found(key)]))
  expect(merged(parts).keys).toEqual(keys.toSorted((a, b) => Buffer.compare(text(a), text(b))))
})

test('entries stay in the bytes that their slot has sent: none is copied, none gets a view', () => {
  const sent = part([found('a'), found('b')])
  const page = mergeScanParts([sent], 10, (to, entry) => to.add(entry))
  expect(page.bytes.map((bytes) => bytes === sent.answers.bytes)).toEqual([true, true])
})

test('a slot that restores ends the page, and one that does not know the state has no entries', () => {
  const key = text('a')
  expect(() => part([{ kind: 'restoring', key }])).toThrow(
    expect.objectContaining({ code: 'RESTORING' }),
  )
  expect(merged([part([{ kind: 'unknown-state', key }]), part([found('b')])]).keys).toEqual(['b'])
})
