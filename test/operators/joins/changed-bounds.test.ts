import { describe, expect, it } from 'vitest'
import { plainKeySerializer } from '../../../src/dataflow/key-serializer.ts'
import { IntervalJoinFunction } from '../../../src/operators/joins/interval-join.ts'
import { KeyedCoProcessOperator } from '../../../src/operators/process/keyed-co-process.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

type Bounds = readonly [lowerMs: number, upperMs: number]

function open(
  [lowerMs, upperMs]: Bounds,
  restore: readonly HarnessSnapshot[] = [],
): Promise<OperatorHarness<number, string>> {
  const join = new IntervalJoinFunction<string, number, number, string>(
    { lowerMs, upperMs },
    { processElement: (left, right, _context, out) => out.collect(`${left} ${right}`) },
  )
  const keySerializer = plainKeySerializer<string>()
  const operator = new KeyedCoProcessOperator(join, keySerializer, true)
  const key = () => 'key'
  const keys = { selectors: [key, key], serializer: plainKeySerializer() }
  return OperatorHarness.open<number, string>({ operator, keys, restore })
}

const left = (harness: OperatorHarness<number, string>, time: number): void =>
  harness.process(time, time, { input: 0 })
const right = (harness: OperatorHarness<number, string>, time: number): void =>
  harness.process(time, time, { input: 1 })

/** As a checkpoint of a former release, which has no bounds. */
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
    for (const change of [(same: HarnessSnapshot) => same, withoutBounds]) {
      const before = await open(old)
      for (let time = 0; time < 40; time += 4) {
        left(before, time)
        right(before, time + 1)
      }
      before.watermark(24)
      const middle = await open(bounds, [change(await before.snapshot())])
      middle.watermark(30)
      const after = await open(bounds, [await middle.snapshot()])
      const [lowerMs, upperMs] = bounds
      // Nothing that was there after watermark 30 and joins time 33 is missing, whatever the old bounds.
      right(after, 33)
      const kept = Array.from({ length: 10 }, (_, n) => 4 * n).filter(
        (time) => time + Math.max(0, Math.min(old[1], upperMs)) > 30,
      )
      const partners = kept.filter((time) => 33 >= time + lowerMs && 33 <= time + upperMs)
      expect(after.take().map((pair) => Number(pair.split(' ')[0]))).toEqual(
        expect.arrayContaining(partners),
      )
      after.watermark(200)
      expect((await after.snapshot(2)).entries).toEqual([])
    }
  })
})
