import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { plainKeySerializer } from '../../../src/dataflow/key-serializer.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import { AlignedWindowOperator } from '../../../src/operators/windows/aligned-operator.ts'
import {
  type AlignedWindows,
  dynamicEventTimeSessionWindows,
  eventTimeSessionWindows,
  processingTimeSessionWindows,
  type SessionWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
} from '../../../src/operators/windows/assigner.ts'
import {
  aggregateFold,
  FoldedContents,
  ListedContents,
  reduceFold,
  type WindowContents,
} from '../../../src/operators/windows/contents.ts'
import type { ProcessWindowFunction } from '../../../src/operators/windows/function.ts'
import { WindowNamespaces, windowOfNamespace } from '../../../src/operators/windows/namespace.ts'
import { SessionWindowOperator } from '../../../src/operators/windows/session-operator.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

interface Event {
  readonly key: string
  readonly time: number
  readonly amount: number
}

type Result = readonly [key: string, start: number, end: number, amounts: readonly number[]]

interface Options {
  readonly lateness?: number
  readonly late?: OutputTag<Event>
  readonly restore?: readonly HarnessSnapshot[]
  readonly subtask?: number
  readonly parallelism?: number
}

const listing: ProcessWindowFunction<string, Event, Result> = {
  process: (key, { window }, elements, out) =>
    out.collect([key, window.start, window.end, elements.map((event) => event.amount)]),
}

function open<OUT = Result>(
  assigner: AlignedWindows | SessionWindows,
  contents: WindowContents<Event>,
  windowFunction: ProcessWindowFunction<string, never, OUT> | undefined,
  { lateness = 0, late, ...rest }: Options = {},
): Promise<OperatorHarness<Event, OUT>> {
  const options = {
    keySerializer: plainKeySerializer<string>(),
    contents,
    windowFunction: windowFunction as ProcessWindowFunction<string, unknown, unknown> | undefined,
    allowedLatenessMs: lateness,
    lateDataTag: late,
  }
  const operator =
    assigner.kind === 'session'
      ? new SessionWindowOperator(assigner, options)
      : new AlignedWindowOperator(assigner, options)
  const keys = {
    selectors: [(event: Event) => event.key],
    serializer: plainKeySerializer(),
  }
  return OperatorHarness.open<Event, OUT>({ operator, keys, ...rest })
}

const openListing = (
  assigner: AlignedWindows | SessionWindows,
  options: Options = {},
): Promise<OperatorHarness<Event, Result>> =>
  open<Result>(assigner, new ListedContents<Event>(msgpackSerializer()), listing, options)

const event = (time: number, amount = time, key = 'a'): Event => ({ key, time, amount })

function feed(harness: OperatorHarness<Event, unknown>, ...events: readonly Event[]): void {
  for (const each of events) harness.process(each, each.time)
}

describe('tumbling windows', () => {
  it('fire when the watermark passes their last moment, which is the timestamp of the result', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10))
    feed(harness, event(3), event(12), event(9))
    harness.watermark(8)
    expect(harness.values).toEqual([])
    harness.watermark(9)
    expect(harness.outputs).toEqual([{ value: ['a', 0, 10, [3, 9]], timestamp: 9 }])
    harness.endInput()
    expect(harness.values.at(-1)).toEqual(['a', 10, 20, [12]])
  })

  it('keep keys apart', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10))
    feed(harness, event(1, 1, 'a'), event(2, 2, 'b'), event(3, 3, 'a'))
    harness.watermark(10)
    expect(new Set(harness.values)).toEqual(
      new Set([
        ['a', 0, 10, [1, 3]],
        ['b', 0, 10, [2]],
      ]),
    )
  })

  it('begin at the offset, also before the epoch', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10, 3))
    feed(harness, event(2), event(3), event(-8))
    harness.endInput()
    expect(harness.values.map(([, start, end]) => [start, end])).toEqual([
      [-17, -7],
      [-7, 3],
      [3, 13],
    ])
  })

  it('store one reduced value and emit it', async () => {
    const sum = reduceFold<Event>((a, b) => ({ ...b, amount: a.amount + b.amount }))
    const contents = new FoldedContents<Event, Event>(sum, msgpackSerializer())
    const harness = await open<Event>(tumblingEventTimeWindows(10), contents, undefined)
    feed(harness, event(1), event(2), event(4))
    harness.endInput()
    expect(harness.values.map((each) => each.amount)).toEqual([7])
  })

  it('pass the result of an aggregation to the window function', async () => {
    const mean = aggregateFold<Event, [number, number], number>({
      createAccumulator: () => [0, 0],
      add: (each, [sum, count]) => [sum + each.amount, count + 1],
      getResult: ([sum, count]) => sum / count,
      merge: (a, b) => [a[0] + b[0], a[1] + b[1]],
    })
    const contents = new FoldedContents(mean, msgpackSerializer<[number, number]>())
    const harness = await open<string>(tumblingEventTimeWindows(10), contents, {
      process: (key, { window }, [value], out) => out.collect(`${key}@${window.start}: ${value}`),
    })
    feed(harness, event(1), event(2), event(6))
    harness.endInput()
    expect(harness.values).toEqual(['a@0: 3'])
  })

  it('drop and count a record that comes after the end of its window', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10))
    harness.watermark(9)
    feed(harness, event(9), event(10))
    harness.endInput()
    expect(harness.values).toEqual([['a', 10, 20, [10]]])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })

  it('send late records to the side output, if any, with their own timestamp', async () => {
    const late = new OutputTag<Event>('late')
    const harness = await openListing(tumblingEventTimeWindows(10), { late })
    harness.watermark(9)
    feed(harness, event(7))
    expect(harness.sideOutput(late)).toEqual([{ value: event(7), timestamp: 7 }])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(0)
  })

  it('fire again for every record within the allowed lateness, and not after it', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10), { lateness: 5 })
    feed(harness, event(1))
    harness.watermark(9)
    feed(harness, event(2))
    harness.watermark(13)
    feed(harness, event(3))
    harness.watermark(14)
    feed(harness, event(4))
    expect(harness.values.map(([, , , amounts]) => amounts)).toEqual([[1], [1, 2], [1, 2, 3]])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })

  it('leave nothing in state once they are cleared', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10), { lateness: 5 })
    feed(harness, event(1), event(2, 2, 'b'))
    expect((await harness.snapshot()).entries.length).toBeGreaterThan(0)
    harness.watermark(14)
    expect((await harness.snapshot(2)).entries).toEqual([])
  })

  it('follow the wall clock in processing time', async () => {
    const harness = await openListing(tumblingProcessingTimeWindows(10))
    feed(harness, event(900))
    harness.advanceTime(4)
    feed(harness, event(1))
    harness.advanceTime(4)
    expect(harness.values).toEqual([])
    harness.advanceTime(2)
    feed(harness, event(5))
    harness.advanceTime(10)
    expect(harness.values).toEqual([
      ['a', 0, 10, [900, 1]],
      ['a', 10, 20, [5]],
    ])
  })

  it('refuse a record without timestamp and say what is missing', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10))
    expect(() => harness.process(event(1))).toThrow(/give the watermark strategy a timestampOf/)
  })
})

describe('sliding windows', () => {
  it('store a record in every window that contains it', async () => {
    const harness = await openListing(slidingEventTimeWindows(10, 5))
    feed(harness, event(7))
    harness.endInput()
    expect(harness.values).toEqual([
      ['a', 0, 10, [7]],
      ['a', 5, 15, [7]],
    ])
  })

  it('drop a record only when all its windows are past', async () => {
    const harness = await openListing(slidingEventTimeWindows(10, 5))
    harness.watermark(9)
    feed(harness, event(7))
    harness.watermark(14)
    feed(harness, event(8))
    expect(harness.values).toEqual([['a', 5, 15, [7]]])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })
})

describe('session windows with a gap of each record', () => {
  const gapOfAmount = dynamicEventTimeSessionWindows<Event>(({ amount }) => amount)

  it('end after the latest gap of their records', async () => {
    const harness = await openListing(gapOfAmount)
    feed(harness, event(0, 20), event(5, 3), event(19, 2), event(22, 1))
    harness.endInput()
    expect(harness.values).toEqual([
      ['a', 0, 21, [20, 3, 2]],
      ['a', 22, 23, [1]],
    ])
  })

  it.each([0, -1, 0.5])('refuse a gap of %d', async (gap) => {
    const harness = await openListing(gapOfAmount)
    expect(() => feed(harness, event(0, gap))).toThrow('the gap of a session is a whole number')
  })
})

describe('session windows', () => {
  it('end after one gap without records', async () => {
    const harness = await openListing(eventTimeSessionWindows(10))
    feed(harness, event(0), event(8), event(30))
    harness.endInput()
    expect(harness.values).toEqual([
      ['a', 0, 18, [0, 8]],
      ['a', 30, 40, [30]],
    ])
  })

  it('become one when a record connects them; touching counts as overlap', async () => {
    const harness = await openListing(eventTimeSessionWindows(10))
    feed(harness, event(0), event(20), event(10))
    harness.endInput()
    expect(harness.values).toHaveLength(1)
    const [key, start, end, amounts] = harness.values[0]!
    expect([key, start, end, [...amounts].sort((a, b) => a - b)]).toEqual(['a', 0, 30, [0, 10, 20]])
  })

  it('merge the folded contents of sessions that a record connects', async () => {
    const sum = reduceFold<Event>((a, b) => ({ ...a, amount: a.amount + b.amount }))
    const contents = new FoldedContents<Event, Event>(sum, msgpackSerializer())
    const total: ProcessWindowFunction<string, Event, number> = {
      process: (_key, _context, elements, out) => out.collect(elements[0]!.amount),
    }
    const harness = await open<number>(eventTimeSessionWindows(10), contents, total)
    feed(harness, event(0, 1), event(18, 2), event(36, 4), event(9, 8), event(27, 16))
    harness.endInput()
    expect(harness.values).toEqual([31])
  })

  it('accept a late record that touches an open session, and drop one that does not', async () => {
    const harness = await openListing(eventTimeSessionWindows(10))
    feed(harness, event(20))
    harness.watermark(25)
    feed(harness, event(12), event(1))
    harness.endInput()
    expect(harness.values).toEqual([['a', 12, 30, [20, 12]]])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })

  it('fire again when a late record extends a session within the allowed lateness', async () => {
    const harness = await openListing(eventTimeSessionWindows(10), { lateness: 20 })
    feed(harness, event(0))
    harness.watermark(12)
    feed(harness, event(2))
    expect(harness.values).toEqual([
      ['a', 0, 10, [0]],
      ['a', 0, 12, [0, 2]],
    ])
    harness.watermark(31)
    expect((await harness.snapshot()).entries).toEqual([])
  })

  it('follow the wall clock in processing time', async () => {
    const harness = await openListing(processingTimeSessionWindows(10))
    feed(harness, event(1))
    harness.advanceTime(8)
    feed(harness, event(2))
    harness.advanceTime(8)
    expect(harness.values).toEqual([])
    harness.advanceTime(2)
    expect(harness.values).toEqual([['a', 0, 18, [1, 2]]])
  })
})

const BOUND = 40

/** Events in random order; none is further behind than the bound. */
function shuffled(random: Random, count: number): Event[] {
  const events = Array.from({ length: count }, (_, i) =>
    event(random.below(2000), i, `key-${random.below(7)}`),
  )
  const arrival = new Map(events.map((each) => [each, each.time + random.below(BOUND)]))
  return events.sort((a, b) => arrival.get(a)! - arrival.get(b)!)
}

function naiveAligned(
  events: readonly Event[],
  sizeMs: number,
  slideMs: number,
): Map<string, string> {
  const windows = new Map<string, number[]>()
  for (const { key, time, amount } of events) {
    for (let start = -sizeMs; start <= time; start += slideMs) {
      if (time < start || time >= start + sizeMs) continue
      const id = `${key} ${start} ${start + sizeMs}`
      windows.set(id, [...(windows.get(id) ?? []), amount])
    }
  }
  return canonical(windows)
}

function naiveSessions(events: readonly Event[], gapMs: number): Map<string, string> {
  const windows = new Map<string, number[]>()
  for (const key of new Set(events.map((each) => each.key))) {
    const own = events.filter((each) => each.key === key).sort((a, b) => a.time - b.time)
    let group: Event[] = []
    const close = (): void => {
      if (group.length === 0) return
      const id = `${key} ${group[0]!.time} ${group.at(-1)!.time + gapMs}`
      windows.set(
        id,
        group.map((each) => each.amount),
      )
    }
    for (const each of own) {
      if (group.length > 0 && each.time > group.at(-1)!.time + gapMs) {
        close()
        group = []
      }
      group.push(each)
    }
    close()
  }
  return canonical(windows)
}

const canonical = (windows: Map<string, readonly number[]>): Map<string, string> =>
  new Map([...windows].map(([id, amounts]) => [id, [...amounts].sort((a, b) => a - b).join(' ')]))

const byWindow = (results: readonly Result[]): Map<string, string> => {
  const windows = new Map(
    results.map(([key, start, end, amounts]) => [`${key} ${start} ${end}`, amounts]),
  )
  expect(windows.size).toBe(results.length)
  return canonical(windows)
}

/** Processes all events. Halfway, all subtasks stop and are restored at another parallelism. */
async function runWithRestore(
  assigner: AlignedWindows | SessionWindows,
  events: readonly Event[],
  from: number,
  to: number,
): Promise<Result[]> {
  const results: Result[] = []
  let snapshots: HarnessSnapshot[] = []
  let largest = 0
  const halves = [events.slice(0, events.length / 2), events.slice(events.length / 2)]
  for (const [half, parallelism] of [from, to].entries()) {
    const next: HarnessSnapshot[] = []
    let seen = largest
    for (let subtask = 0; subtask < parallelism; subtask++) {
      seen = largest
      const harness = await openListing(assigner, { restore: snapshots, subtask, parallelism })
      if (half === 1) harness.watermark(largest - BOUND - 1)
      for (const each of halves[half]!) {
        seen = Math.max(seen, each.time)
        try {
          harness.process(each, each.time)
        } catch (error) {
          expect(error).toMatchObject({ code: 'NOT_OWNER' })
        }
        harness.watermark(seen - BOUND - 1)
      }
      next.push(await harness.snapshot())
      if (half === 1) harness.endInput()
      results.push(...harness.values)
      expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(0)
    }
    largest = seen
    snapshots = next
  }
  return results
}

describe('windows against a naive computation on shuffled input, restored halfway', () => {
  const seeds = [1, 2, 3, 4, 5, 6]
  for (const seed of seeds) {
    it(`give the same tumbling, sliding and session windows (seed ${seed})`, async () => {
      const random = seededRandom(seed)
      const events = shuffled(random, 300)
      const parallelism = [1 + random.below(3), 1 + random.below(3)] as const
      const run = async (assigner: AlignedWindows | SessionWindows): Promise<Map<string, string>> =>
        byWindow(await runWithRestore(assigner, events, ...parallelism))
      expect(await run(tumblingEventTimeWindows(70))).toEqual(naiveAligned(events, 70, 70))
      expect(await run(slidingEventTimeWindows(90, 30))).toEqual(naiveAligned(events, 90, 30))
      expect(await run(eventTimeSessionWindows(25))).toEqual(naiveSessions(events, 25))
    })
  }
})

describe('namespaces of windows', () => {
  it('keep the documented layout, and read back at both ends of time', () => {
    const namespaces = new WindowNamespaces()
    expect([...namespaces.of(-1, 258)]).toEqual([...Array(8).fill(255), 2, 1, 0, 0, 0, 0, 0, 0])
    for (const [start, end] of [
      [0, 1],
      [-5_000_000_000, -1],
      [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ] as const) {
      expect(windowOfNamespace(namespaces.of(start, end))).toEqual({ start, end })
    }
    expect(() => windowOfNamespace(new Uint8Array(3))).toThrow(/has 16 bytes, not 3/)
  })
})
