import { describe, expect, it } from 'vitest'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { type Bounds, left, openFormerJoin, openJoin, right } from './join-harness.ts'

/** As a checkpoint of a release before the former one, which has no bounds. */
const withoutBounds = (snapshot: HarnessSnapshot): HarnessSnapshot => ({
  ...snapshot,
  operatorState: snapshot.operatorState.filter(({ name }) => !name.endsWith('/bounds')),
})

describe('an interval join with other bounds than before its restore', () => {
  it.each<[string, Bounds, Bounds]>([
    ['narrower', [-10, 10], [-3, 4]],
    ['wider', [-3, 4], [-10, 10]],
    ['shifted', [-10, -5], [5, 12]],
    ['the same', [-5, 5], [-5, 5]],
  ])('keeps records as long as the new bounds say, and no longer (%s)', async (_, old, bounds) => {
    for (const opened of [openJoin, openFormerJoin]) {
      for (const change of [(same: HarnessSnapshot) => same, withoutBounds]) {
        const before = await opened(old)
        for (let time = 0; time < 40; time += 4) {
          left(before, time)
          right(before, time + 1)
        }
        before.harness.watermark(24)
        const middle = await openJoin(bounds, [change(await before.harness.snapshot())])
        middle.harness.watermark(30)
        const after = await openJoin(bounds, [await middle.harness.snapshot()])
        const [lowerMs, upperMs] = bounds
        // Nothing that was there after watermark 30 and joins time 33 is missing, whatever the old bounds.
        right(after, 33)
        const kept = Array.from({ length: 10 }, (_, n) => 4 * n).filter(
          (time) => time + Math.max(0, Math.min(old[1], upperMs)) > 30,
        )
        const partners = kept.filter((time) => 33 >= time + lowerMs && 33 <= time + upperMs)
        expect(after.harness.take().map((pair) => Number(pair.split(' ')[0]))).toEqual(
          expect.arrayContaining(partners),
        )
        after.harness.watermark(200)
        expect((await after.harness.snapshot(2)).entries).toEqual([])
      }
    }
  })
})
