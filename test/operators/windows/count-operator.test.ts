import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { type Fold, reduceFold } from '../../../src/operators/folds/fold.ts'
import { countWindows } from '../../../src/operators/windows/assigner.ts'
import {
  FoldedContents,
  ListedContents,
  type WindowContents,
} from '../../../src/operators/windows/contents.ts'
import { CountWindowOperator } from '../../../src/operators/windows/count-operator.ts'
import type { ProcessWindowFunction } from '../../../src/operators/windows/function.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

type Event = readonly [key: string, amount: number]

const listing: ProcessWindowFunction<string, Event, readonly [string, readonly number[]]> = {
  process: (key, _, elements, out) => out.collect([key, elements.map(([, amount]) => amount)]),
}

function open<OUT>(
  [size, slide]: readonly [number, (number | undefined)?],
  contents: WindowContents<Event> = new ListedContents<Event>(msgpackSerializer()),
  windowFunction: typeof listing | null = listing,
  restore: readonly HarnessSnapshot[] = [],
  fold?: Fold<Event, unknown>,
): Promise<OperatorHarness<Event, OUT>> {
  const options = {
    keySerializer: plainKeySerializer<string>(),
    contents,
    windowFunction: (windowFunction ?? undefined) as
      | ProcessWindowFunction<string, unknown, unknown>
      | undefined,
    allowedLatenessMs: 0,
    lateDataTag: undefined,
  }
  const operator = new CountWindowOperator(countWindows(size, slide), options, {
    serializer: msgpackSerializer<Event>(),
    fold,
  })
  const keys = { selectors: [([key]: Event) => key], serializer: plainKeySerializer() }
  return OperatorHarness.open<Event, OUT>({ operator, keys, restore })
}

function feed(harness: OperatorHarness<Event, unknown>, key: string, ...amounts: number[]): void {
  for (const amount of amounts) harness.process([key, amount], amount)
}

describe('count windows', () => {
  it('fire with each so many records of a key, at the time of the last one', async () => {
    const harness = await open([3])
    feed(harness, 'a', 1, 2)
    feed(harness, 'b', 10, 20)
    feed(harness, 'a', 3, 4, 5)
    feed(harness, 'b', 30)
    expect(harness.outputs).toEqual([
      { value: ['a', [1, 2, 3]], timestamp: 3 },
      { value: ['b', [10, 20, 30]], timestamp: 30 },
    ])
  })

  it('leave out records at the end that fill no window', async () => {
    const harness = await open([3])
    feed(harness, 'a', 1, 2, 3, 4, 5)
    harness.endInput()
    expect(harness.values).toEqual([['a', [1, 2, 3]]])
  })

  it.each([
    [
      4,
      2,
      [
        [1, 2],
        [1, 2, 3, 4],
        [3, 4, 5, 6],
        [5, 6, 7, 8],
      ],
    ],
    [
      3,
      2,
      [
        [1, 2],
        [2, 3, 4],
        [4, 5, 6],
        [6, 7, 8],
      ],
    ],
    [
      2,
      4,
      [
        [3, 4],
        [7, 8],
      ],
    ],
    [1, 1, [[1], [2], [3], [4], [5], [6], [7], [8]]],
  ])('of %i records each %i have the last records', async (size, slide, windows) => {
    const harness = await open([size, slide])
    feed(harness, 'a', 1, 2, 3, 4, 5, 6, 7, 8)
    expect(harness.values).toEqual(windows.map((amounts) => ['a', amounts]))
  })

  it('keep fewer than twice the records of a window, and give the last ones all along', async () => {
    const harness = await open<readonly [string, readonly number[]]>([3, 1])
    const amounts = Array.from({ length: 40 }, (_, i) => i)
    feed(harness, 'a', ...amounts)
    expect(harness.values).toEqual(
      amounts.map((amount) => ['a', amounts.slice(Math.max(0, amount - 2), amount + 1)]),
    )
    const { entries } = await harness.snapshot()
    const kept = entries.find(({ state }) => state === 'window-records')!
    // A record takes a length, an array, a text of one letter and a number: 5 or 6 bytes.
    expect(kept.value.length).toBeLessThan(3 * 2 * 6)
  })

  it.each([undefined, 1])('fold their records, slide %s', async (slide) => {
    const sum = reduceFold<Event>(([key, a], [, b]) => [key, a + b])
    const contents = new FoldedContents<Event, Event>(sum, msgpackSerializer())
    const fold = sum as Fold<Event, unknown>
    const harness = await open<Event>([3, slide], contents, null, [], fold)
    feed(harness, 'a', 1, 2, 3, 4, 5, 6)
    expect(harness.values.map(([, amount]) => amount)).toEqual(
      slide === undefined ? [6, 15] : [1, 3, 6, 9, 12, 15],
    )
  })

  it('give each window records of its own, which a function may change and keep', async () => {
    const kept: Event[] = []
    const changing = reduceFold<Event>((a, b) => {
      kept.push(b)
      ;(a as [string, number])[1] += b[1]
      return a
    })
    const fold = changing as Fold<Event, unknown>
    const contents = new FoldedContents<Event, Event>(changing, msgpackSerializer())
    const harness = await open<Event>([3, 1], contents, null, [], fold)
    const sums: number[] = []
    for (let i = 1; i <= 20; i++) {
      feed(harness, 'a', i)
      const [[, sum] = ['', 0]] = harness.take()
      sums.push(sum)
      for (const event of kept) (event as [string, number])[1] = 1000
    }
    expect(sums.slice(2)).toEqual(Array.from({ length: 18 }, (_, i) => 3 * i + 6))
  })

  it('count on with the count of another slide, and leave none of it', async () => {
    const before = await open([4, 3])
    feed(before, 'a', 1, 2)
    const after = await open([4, 1], undefined, undefined, [await before.snapshot()])
    feed(after, 'a', 3, 4)
    expect(after.values).toEqual([
      ['a', [1, 2, 3]],
      ['a', [1, 2, 3, 4]],
    ])
    const { entries } = await after.snapshot()
    expect(entries.map(({ state }) => state)).not.toContain('window-count')
  })

  it.each([
    [3, 3],
    [3, 1],
  ])('of %i records each %i go on behind a checkpoint', async (size, slide) => {
    const whole = await open([size, slide])
    feed(whole, 'a', 1, 2, 3, 4, 5, 6, 7)
    const first = await open([size, slide])
    feed(first, 'a', 1, 2, 3, 4)
    const second = await open([size, slide], undefined, undefined, [await first.snapshot()])
    feed(second, 'a', 5, 6, 7)
    expect([...first.values, ...second.values]).toEqual(whole.values)
  })

  it.each([
    [0, 1],
    [3, 0],
    [1.5, 1],
    [Number.NaN, 1],
  ])('refuse %d records each %d', (size, slide) => {
    expect(() => countWindows(size, slide)).toThrow(`not ${size} and ${slide}`)
  })
})
