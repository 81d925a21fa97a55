import { describe, expect, it } from 'vitest'
import { Gathering } from '../../../src/serving/top-k/gathering.ts'

const MOST = 16
const PASS = { queries: 12, waiting: 4, startedMs: 100, endedMs: 108 }

function having(pass: Partial<typeof PASS>): Gathering {
  const gathering = new Gathering()
  gathering.ended({ ...PASS, ...pass })
  return gathering
}

describe('a pass', () => {
  it('waits for as many queries as were there at once, a quarter of the last pass', () => {
    expect(having({}).next(4, MOST, 108)).toEqual({ queries: 16, ms: 2 })
  })

  it('waits for no more than fit in', () => {
    expect(having({ waiting: 30 }).next(4, MOST, 108).queries).toBe(MOST)
  })

  it.each([
    ['it is the first one', new Gathering(), 1, 108],
    ['they are there', having({}), 16, 108],
    ['one client asks one query after the other', having({ queries: 1, waiting: 0 }), 1, 108],
    ['passes are short', having({ endedMs: 103 }), 4, 103],
    ['the last one was long ago', having({}), 4, 117],
  ])('does not wait when %s', (_, gathering, queries, nowMs) => {
    expect(gathering.next(queries, MOST, nowMs).ms).toBe(0)
  })

  it('waits more and more seldom while the others do not come, and each time after they came', () => {
    const gathering = having({})
    const waits = (passes: number, came: boolean): number =>
      Array.from({ length: passes }).filter(() => {
        const isWaiting = gathering.next(4, MOST, 108).ms > 0
        if (isWaiting) gathering.waited(came)
        return isWaiting
      }).length
    expect(waits(1 + 2 + 3 + 5, false)).toBe(4)
    expect(waits(1000, false)).toBeLessThan(20)
    for (let skipped = 0; gathering.next(4, MOST, 108).ms === 0; skipped++) {
      expect(skipped).toBeLessThan(65)
    }
    gathering.waited(true)
    expect(waits(10, true)).toBe(10)
  })
})
