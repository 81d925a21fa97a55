import { describe, expect, it } from 'vitest'
import { UnreadElements } from '../../../src/state/handles/unread-elements.ts'

/** Adds elements; the share of them that is packed. */
function add(unread: UnreadElements, elements: number, afterEach?: (n: number) => void): number {
  let packed = 0
  for (let n = 0; n < elements; n++) {
    if (unread.arenaForNext() !== undefined) packed += 1
    afterEach?.(n)
  }
  return packed / elements
}

describe('elements of lists', () => {
  it('are packed once many were added and none was read', () => {
    const unread = new UnreadElements()
    expect(add(unread, 65_000)).toBe(0)
    expect(add(unread, 200_000)).toBeGreaterThan(0.95)
    expect(add(unread, 200_000)).toBe(1)
  })

  it('are packed while one of twenty is read', () => {
    const unread = new UnreadElements()
    add(unread, 70_000)
    expect(add(unread, 200_000, (n) => n % 20 === 0 && unread.take(1))).toBe(1)
  })

  it('stay decoded while each is read some time after it was added', () => {
    const unread = new UnreadElements()
    const packed = add(unread, 1_000_000, (n) => n >= 20_000 && unread.take(1))
    expect(packed).toBe(0)
  })

  it('of windows are packed in the first one only', () => {
    const unread = new UnreadElements()
    const window = 200_000
    add(unread, window)
    unread.take(window)
    add(unread, 1024)
    for (let n = 0; n < 20; n++) {
      expect(add(unread, window)).toBe(0)
      unread.take(window)
    }
  })

  it('are decoded again soon after a function begins to read them', () => {
    const unread = new UnreadElements()
    add(unread, 1_000_000)
    expect(add(unread, 50_000, () => unread.take(1))).toBeLessThan(0.5)
    expect(add(unread, 1_000_000, () => unread.take(1))).toBe(0)
  })

  it('are packed again when no function reads them any more', () => {
    const unread = new UnreadElements()
    add(unread, 100_000)
    add(unread, 100_000, () => unread.take(1))
    expect(add(unread, 100_000)).toBe(0)
    add(unread, 2_000_000)
    expect(add(unread, 100_000)).toBe(1)
  })
})
