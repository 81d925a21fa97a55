import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import type { ScanPart } from '../../../src/state/port/scan-part.ts'
import { bytesOf, V1, VectorFixture } from '../vector/model.ts'

const KEYS = 6_000
const keyOf = (n: number): string => `k${String(n).padStart(6, '0')}`

/** A whole scan in pages; `meanwhile` runs between the steps of the slot. */
function pages(fixture: VectorFixture, limit: number, meanwhile: () => void): string[] {
  const found: string[] = []
  let from: Uint8Array | undefined = bytesOf('')
  while (from !== undefined) {
    const steps: Generator<void, ScanPart> = fixture.tables.scan(V1, {
      from,
      to: bytesOf('z'),
      limit,
    })
    let step = steps.next()
    while (step.done !== true) {
      meanwhile()
      step = steps.next()
    }
    for (const { key } of step.value.answers) found.push(Buffer.from(key).toString())
    from = step.value.resume
  }
  return found
}

/** Writes to some rows, which brings spilled rows into memory and drives others out; adds new rows. */
function churn(fixture: VectorFixture, random: Random): () => void {
  let added = KEYS
  return () => {
    if (random.below(8) > 0) return
    fixture.add(keyOf(random.below(KEYS)), 1, 0, 0, 0)
    if (random.below(4) === 0) fixture.put(keyOf(added++), 1, 2, 3, 4)
  }
}

describe('pages of a scan', () => {
  it.each([
    { spill: false, limit: 100 },
    { spill: false, limit: 4000 },
    { spill: true, limit: 100 },
    { spill: true, limit: 4000 },
  ])(
    'have every row once, in order, while rows are written ($spill, $limit)',
    ({ spill, limit }) => {
      const memory = spill ? { memoryBudgetBytes: 100_000, spill, rowShift: 4 } : {}
      const fixture = new VectorFixture(memory)
      fixture.tables.openVersion(V1)
      for (let n = 0; n < KEYS; n++) fixture.put(keyOf((n * 7) % KEYS), n, 0, 0, 0)
      const found = pages(fixture, limit, churn(fixture, seededRandom(5)))
      expect(found).toEqual(found.toSorted())
      expect(new Set(found).size).toBe(found.length)
      const stable = found.filter((key) => key < keyOf(KEYS))
      expect(stable).toHaveLength(KEYS)
    },
  )

  it('show a row that was written after the first page', () => {
    const fixture = new VectorFixture()
    fixture.tables.openVersion(V1)
    for (let n = 0; n < 3000; n++) fixture.put(keyOf(2 * n), 1, 2, 3, 4)
    let steps = 0
    const found = pages(fixture, 10, () => {
      steps += 1
      if (steps === 200) fixture.put(keyOf(5_001), 1, 2, 3, 4)
    })
    expect(found).toContain(keyOf(5_001))
    expect(found).toHaveLength(3001)
  })
})
