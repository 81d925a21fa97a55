import { describe, expect, it } from 'vitest'
import { StoredScan } from '../../../src/state/snapshot/stored-scan.ts'
import { text } from '../keyed-state-fixture.ts'

function* entries(...keys: string[]): IterableIterator<readonly [Uint8Array, Uint8Array]> {
  for (const key of keys) yield [text(key), text(`value of ${key}`)]
}

const keysOf = (scan: StoredScan): string[] => {
  const keys: string[] = []
  while (scan.isOpen) {
    const entry = scan.next()
    if (entry !== undefined) keys.push(new TextDecoder().decode(entry[0]))
  }
  return keys
}

describe('StoredScan', () => {
  it('gives the entries in order and ends', () => {
    expect(keysOf(new StoredScan(entries('a', 'b', 'c')))).toEqual(['a', 'b', 'c'])
  })

  it('leaves out overridden keys, also those overridden while it runs', () => {
    const scan = new StoredScan(entries('a', 'b', 'c', 'd'))
    scan.override(text('a'))
    expect(scan.next()).toBeUndefined()
    expect(scan.isOpen).toBe(true)
    scan.override(text('c'))
    expect(keysOf(scan)).toEqual(['b', 'd'])
  })

  it('gives nothing after it was closed', () => {
    const scan = new StoredScan(entries('a', 'b'))
    scan.next()
    scan.close()
    expect(scan.isOpen).toBe(false)
    expect(scan.next()).toBeUndefined()
  })
})
