import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { bytesSerializer } from '../../../src/core/serializer.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { KeyedProcessOperator } from '../../../src/operators/process/keyed-process.ts'
import type { WindowResult } from '../../../src/operators/stores/window-result.ts'
import { WindowStore } from '../../../src/operators/stores/window-store.ts'
import {
  countWindows,
  eventTimeSessionWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
  type WindowAssigner,
} from '../../../src/operators/windows/assigner.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'
import { StreamHarness } from '../../../src/testing/stream-harness.ts'

interface Visit {
  readonly user: string
  readonly time: number
}

const SIZE = 10
const SLIDE = 5
const RETAIN = 20

const counting = {
  createAccumulator: () => 0,
  add: (_: Visit, count: number) => count + 1,
  getResult: (count: number) => count,
  merge: (a: number, b: number) => a + b,
}

/** The windows of 10 ms that have a time, by their starts. */
const startsOf = (time: number, slide: number): number[] => {
  const starts: number[] = []
  for (let start = Math.floor(time / slide) * slide; start > time - SIZE; start -= slide) {
    starts.push(start)
  }
  return starts
}

/** Counts by user and start, computed from all visits at once. */
function naiveCounts(visits: readonly Visit[], slide: number): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { user, time } of visits) {
    for (const start of startsOf(time, slide)) {
      const id = `${user} ${start}`
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
  }
  return counts
}

const visitsOf = (seed: number, count = 200): Visit[] => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => ({
    user: `u${random.below(5)}`,
    time: random.below(100),
  })).sort((a, b) => a.time - b.time)
}

const counted =
  (assigner: WindowAssigner) =>
  (visits: DataStream<Visit>): DataStream<number> => {
    const counts = visits
      .keyBy(({ user }) => user)
      .window(assigner)
      .aggregate(counting)
    counts.asQueryableState('counts', { retainMs: RETAIN })
    return counts
  }

describe.each([
  ['tumbling', tumblingEventTimeWindows(SIZE), SIZE],
  ['sliding', slidingEventTimeWindows(SIZE, SLIDE), SLIDE],
] as const)('a store of %s windows', (_, assigner, slide) => {
  it('has each result from the end of its window until its retention is over', async () => {
    const visits = visitsOf(slide)
    const harness = await StreamHarness.open<[Visit], number>(counted(assigner))
    const expected = naiveCounts(visits, slide)
    let next = 0
    for (let watermark = 0; watermark < 150; watermark += 2) {
      for (; next < visits.length && visits[next]!.time <= watermark; next++) {
        harness.process(visits[next]!, visits[next]!.time)
      }
      harness.watermark(watermark)
      const found: unknown[] = []
      const wanted: unknown[] = []
      for (let start = -SIZE; start < 110; start += slide) {
        const end = start + SIZE
        const isThere = end - 1 <= watermark && watermark < end - 1 + RETAIN
        for (const user of ['u0', 'u1', 'u2', 'u3', 'u4']) {
          wanted.push(isThere ? expected.get(`${user} ${start}`) : undefined)
          found.push(harness.states.queryable('counts', [user, start]))
        }
      }
      expect(found, `at ${watermark}`).toEqual(wanted)
    }
    expect(harness.numKeyedStateEntries() + harness.numEventTimeTimers()).toBe(0)
    // The stream itself is as it is without a store.
    expect(harness.values.toSorted()).toEqual([...expected.values()].toSorted())
    await harness.close()
  })

  it('goes on from a snapshot', async () => {
    const visits = visitsOf(slide + 1)
    const before = await StreamHarness.open<[Visit], number>(counted(assigner))
    for (const visit of visits) if (visit.time < 50) before.process(visit, visit.time)
    before.watermark(49)
    const restore = await before.snapshot()
    await before.close()
    const after = await StreamHarness.open<[Visit], number>(counted(assigner), { restore })
    expect(after.states.queryable('counts', ['u1', 30])).toBe(
      naiveCounts(visits, slide).get('u1 30'),
    )
    after.watermark(58)
    expect(after.states.queryable('counts', ['u1', 30])).toBeDefined()
    after.watermark(59)
    expect(after.states.queryable('counts', ['u1', 30])).toBeUndefined()
    await after.close()
  })
})

describe('a store of windows', () => {
  it('replaces a result when a late record fires the window again, within the retention only', async () => {
    const build = (visits: DataStream<Visit>): DataStream<number> => {
      const counts = visits
        .keyBy(({ user }) => user)
        .window(tumblingEventTimeWindows(SIZE))
        .allowedLateness(40)
        .aggregate(counting)
      counts.asQueryableState('counts', { retainMs: RETAIN })
      return counts
    }
    const harness = await StreamHarness.open<[Visit], number>(build)
    const visit = { user: 'ann', time: 3 }
    harness.process(visit, 3)
    harness.watermark(20)
    harness.process(visit, 3)
    expect(harness.states.queryable('counts', ['ann', 0])).toBe(2)
    harness.watermark(29)
    harness.process(visit, 3)
    expect(harness.take()).toEqual([1, 2, 3])
    expect(harness.states.queryable('counts', ['ann', 0])).toBeUndefined()
    await harness.close()
  })

  it('keeps the results of all records by the start of the window, and those of the wall clock by the wall clock', async () => {
    const build = (visits: DataStream<Visit>): DataStream<Visit> => {
      const last = visits
        .windowAll(tumblingProcessingTimeWindows(SIZE))
        .reduce((_, visit) => visit)
        .name('Last')
      last.asQueryableState('last', { retainMs: RETAIN }).name('Store')
      return last
    }
    const harness = await StreamHarness.open<[Visit], Visit>(build)
    harness.process({ user: 'ann', time: 1 })
    harness.process({ user: 'bob', time: 2 })
    harness.advanceTime(9)
    expect(harness.states.queryable('last', 0)).toEqual({ user: 'bob', time: 2 })
    harness.advanceTime(19)
    expect(harness.states.queryable('last', 0)).toBeDefined()
    harness.advanceTime(1)
    expect(harness.states.queryable('last', 0)).toBeUndefined()
    await harness.close()
  })

  it('keeps what is there when the input ends', async () => {
    const harness = await StreamHarness.open<[Visit], number>(counted(eventTimeSessionWindows(5)))
    harness.process({ user: 'ann', time: 3 }, 3)
    harness.watermark(50)
    harness.process({ user: 'ann', time: 60 }, 60)
    harness.process({ user: 'ann', time: 64 }, 64)
    harness.endInput()
    expect(harness.states.queryable('counts', ['ann', 3])).toBeUndefined()
    expect(harness.states.queryable('counts', ['ann', 60])).toBe(2)
    await harness.close()
  })

  it('has its entries and their retention on any number of subtasks', async () => {
    const keys = plainKeySerializer()
    const open = (
      subtask: number,
      parallelism: number,
      restore: readonly Awaited<ReturnType<OperatorHarness['snapshot']>>[] = [],
    ): Promise<OperatorHarness> =>
      OperatorHarness.open({
        operator: new KeyedProcessOperator(
          new WindowStore<string, number>({
            descriptor: valueState<number>('results', { queryableName: 'counts' }),
            timeDomain: 'event-time',
            retainMs: RETAIN,
          }),
          keys,
          true,
        ),
        keys: {
          selectors: [({ key, start }: WindowResult<string, number>) => [key, start]],
          serializer: keys,
        },
        ...{ subtask, parallelism, restore },
      })
    const ownerOf = (key: readonly [string, number], parallelism: number): number => {
      const writer = new ByteWriter()
      keys.write(key, writer)
      return Math.floor((keyGroupOf(writer.toBytes(), 128) * parallelism) / 128)
    }
    const all = Array.from({ length: 60 }, (_, i) => [`u${i % 6}`, i * SIZE] as const)
    const before = await Promise.all([open(0, 3), open(1, 3), open(2, 3)])
    for (const key of all) {
      const [user, start] = key
      const result = { key: user, start, end: start + SIZE, result: start / SIZE }
      before[ownerOf(key, 3)]!.process(result, start)
    }
    const snapshots = await Promise.all(before.map((harness) => harness.snapshot()))
    const after = await Promise.all([open(0, 2, snapshots), open(1, 2, snapshots)])
    for (const harness of after) harness.watermark(300)
    for (const key of all) {
      const [, start] = key
      const isThere = 300 < start + SIZE - 1 + RETAIN
      const found = after[ownerOf(key, 2)]!.states.queryable('counts', key)
      expect(found, String(key)).toBe(isThere ? start / SIZE : undefined)
    }
    await Promise.all([...before, ...after].map((harness) => harness.close()))
  })
})

describe('asQueryableState of windows', () => {
  const visits = (): DataStream<Visit> =>
    new StreamExecutionEnvironment().fromSource(
      new GeneratorSource<Visit>({ generate: () => ({ user: 'a', time: 0 }), ratePerSecond: 1 }),
    )
  const byUser = () => visits().keyBy(({ user }) => user)

  it.each([
    [
      'count windows',
      () => byUser().window(countWindows(3)).sum('time'),
      /count windows do not have/,
    ],
    [
      'sessions that late records may change',
      () => byUser().window(eventTimeSessionWindows(5)).allowedLateness(5).sum('time'),
      /sessions with a trigger or with allowed lateness/,
    ],
    [
      'keys that are bytes',
      () =>
        visits()
          .keyBy(() => new Uint8Array(2), bytesSerializer)
          .window(tumblingEventTimeWindows(5))
          .sum('time'),
      /the keys have the serializer "bytes\/1"/,
    ],
  ])('is refused for %s', (_, results, message) => {
    expect(() => results().asQueryableState('sums', { retainMs: 1000 })).toThrow(
      expect.objectContaining({ code: 'INVALID_GRAPH', message: expect.stringMatching(message) }),
    )
  })

  it('is refused without a retention', () => {
    const sums = byUser().window(tumblingEventTimeWindows(5)).sum('time')
    expect(() => sums.asQueryableState('sums', {} as never)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/retainMs/),
      }),
    )
  })
})
