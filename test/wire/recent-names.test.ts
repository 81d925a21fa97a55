import { expect, test } from 'vitest'
import { RecentNames } from '../../src/wire/recent-names.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

function find(names: RecentNames, text: string): string | undefined {
  const frame = bytesOf(`>${text}<`)
  return names.find(frame, 1, frame.length - 2)
}

test('the last four names are found by their bytes, the one before is not', () => {
  const names = new RecentNames()
  const all = ['ROWS', 'TEXTS', '', 'größe', 'ROW']
  for (const text of all) names.add(bytesOf(text), text)
  expect(all.map((text) => find(names, text))).toEqual([undefined, 'TEXTS', '', 'größe', 'ROW'])
  expect(find(names, 'TEXT')).toBeUndefined()
})
