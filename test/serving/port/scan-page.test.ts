import { expect, test } from 'vitest'
import { ScanPage } from '../../../src/serving/port/scan-page.ts'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

test('entries come back from the places of their bytes', () => {
  const entries = [
    { key: 'schlüssel', value: bytes(1, 2) },
    { key: '', value: bytes() },
  ]
  const page = ScanPage.of(entries, 'z')
  expect(page.toEntries().map(({ key, value }) => ({ key, value: [...value] }))).toEqual(
    entries.map(({ key, value }) => ({ key, value: [...value] })),
  )
  expect([page.count, page.resumeText, String(page.lastKey())]).toEqual([2, 'z', ''])
  const empty = new ScanPage()
  expect([empty.count, empty.resumeText, empty.lastKey()]).toEqual([0, undefined, undefined])
})

test('a part of a value may be added', () => {
  const page = new ScanPage()
  page.add({ bytes: bytes(0, 97, 5, 6, 7), keyAt: 1, valueAt: 2, end: 5 }, 3, 4)
  expect(page.toEntries().map(({ key, value }) => [key, ...value])).toEqual([['a', 6]])
})
