import { beforeAll, describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { seededRandom } from '../../src/core/random.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import type { KeyedStream } from '../../src/dataflow/keyed-stream.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
import {
  assignedEventTimeWindows,
  cumulativeEventTimeWindows,
} from '../../src/operators/windows/assigned/assigners.ts'
import {
  eventTimeSessionWindows,
  globalWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import { continuousEventTimeTrigger } from '../../src/operators/windows/continuous-trigger.ts'
import { countEvictor } from '../../src/operators/windows/evictor.ts'
import type { ProcessWindowFunction } from '../../src/operators/windows/function.ts'
import {
  countTrigger,
  eventTimeTrigger,
  purgingTrigger,
} from '../../src/operators/windows/trigger.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { campaignSize } from '../run/campaign-size.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../runtime/job-fixture.ts'
import { commitSeed } from '../services/commit-seed.ts'

interface Event {
  readonly key: string
  readonly time: number
  readonly amount: number
}

const PARTITIONS = 2
const PER_PARTITION = campaignSize(750, 1_500)
/** So that the records take a quarter of a second, in which slots are killed. */
const RATE = 4 * PER_PARTITION
const KEYS = 13

const eventOf = (index: number, partition: number): Event => ({
  key: `k${(index * 5 + partition) % KEYS}`,
  // Pauses of 700 after each 300 records, for the sessions.
  time: index * 10 + ((index * 7) % 40) + Math.floor(index / 300) * 700,
  amount: index % 17,
})

/** A line for each firing: key, window and what the function makes of the records. */
function line<T>(
  text: (elements: readonly T[]) => string,
): () => ProcessWindowFunction<string, T, string> {
  return () => ({
    process: (key, { window }, elements, out) =>
      out.collect(`${key} ${window.start} ${window.end} ${text(elements)}`),
  })
}

const sum = line<Event>((events) => `${events.reduce((total, { amount }) => total + amount, 0)}`)
const size = line<Event>((events) => `${events.length}`)
const first = line<number>(([total]) => `${total}`)

const summing = {
  createAccumulator: () => 0,
  add: ({ amount }: Event, total: number) => total + amount,
  getResult: (total: number) => total,
  merge: (a: number, b: number) => a + b,
}

type Keyed = KeyedStream<string, Event>

/** Windows of every kind; what they emit does not depend on the order in which partitions are read. */
const WINDOWS: Readonly<Record<string, (keyed: Keyed) => DataStream<string>>> = {
  'sliding slices': (keyed) =>
    keyed.window(slidingEventTimeWindows(600, 200)).aggregate(summing, {}, first),
  'sliding without slices': (keyed) =>
    keyed
      .window(slidingEventTimeWindows(600, 200))
      .trigger(eventTimeTrigger())
      .aggregate(summing, {}, first),
  'sliding with all records': (keyed) =>
    keyed.window(slidingEventTimeWindows(500, 250)).process(sum),
  sessions: (keyed) => keyed.window(eventTimeSessionWindows(300)).process(sum),
  'a count trigger that purges': (keyed) =>
    keyed
      .window(globalWindows())
      .trigger(purgingTrigger(countTrigger(5)))
      .process(size),
  'an evictor': (keyed) =>
    keyed.window(tumblingEventTimeWindows(1_000)).evictor(countEvictor(3)).process(size),
  'cumulative windows': (keyed) =>
    keyed.window(cumulativeEventTimeWindows(1_200, 300)).aggregate(summing, {}, first),
  'cumulative windows with all records': (keyed) =>
    keyed.window(cumulativeEventTimeWindows(1_200, 300)).process(sum),
  'windows of a function': (keyed) =>
    keyed
      .window(
        assignedEventTimeWindows<Event>((time, { amount }) =>
          [400, 500 + amount].map((size) => {
            const start = Math.floor(time / size) * size
            return { start, end: start + size }
          }),
        ),
      )
      .process(sum),
  'an outer join in windows': (keyed) =>
    keyed
      .filter(({ amount }) => amount < 8)
      .join(keyed.filter(({ amount }) => amount > 13))
      .where(({ key }) => key)
      .equalTo(({ key }) => key)
      .window(tumblingEventTimeWindows(400))
      .fullOuter()
      .apply((a, b) => `${(a ?? b)?.key} ${a?.time} ${b?.time}`),
  'an outer interval join': (keyed) =>
    keyed
      .intervalJoin(keyed.filter(({ amount }) => amount < 2).keyBy(({ key }) => key))
      .between(-100, 200)
      .leftOuter()
      .process<string>(() => ({
        processElement: (a, b, _, out) => out.collect(`${a?.key} ${a?.time} ${b?.time}`),
      })),
  'a window of counts': (keyed) =>
    keyed.countWindow(10).process(line<Event>((events) => `${events.length}`)),
}

/** The windows above, and early firings, whose last one for a window is compared. */
function graphOf(sink: MemorySink<string>, ratePerSecond?: number): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 2, maxParallelism: 16 })
  const source = new GeneratorSource<Event>({
    generate: eventOf,
    partitions: PARTITIONS,
    countPerPartition: PER_PARTITION,
    ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
  })
  const keyed = env
    .fromSource(source, boundedOutOfOrderness(50, { timestampOf: ({ time }) => time }))
    .keyBy(({ key }) => key)
  const early = keyed
    .window(tumblingEventTimeWindows(1_000))
    .trigger(continuousEventTimeTrigger(200))
    .process(sum)
    .map((text) => `early: ${text}`)
  const all = Object.entries(WINDOWS).map(([name, open]) =>
    open(keyed).map((text) => `${name}: ${text}`),
  )
  early.union(...all).sinkTo(sink)
  return env.graph('windows')
}

/** All results in order; of the early firings of a window the largest sum, which is its last one. */
function canonical(values: readonly string[]): string[] {
  const early = new Map<string, number>()
  const others: string[] = []
  for (const value of values) {
    const at = value.lastIndexOf(' ')
    const id = value.slice(0, at)
    if (!value.startsWith('early: ')) others.push(value)
    else early.set(id, Math.max(early.get(id) ?? 0, Number(value.slice(at + 1))))
  }
  return [...others, ...[...early].map(([id, total]) => `${id} ${total}`)].sort()
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const seed = commitSeed()
const SEEDS = Array.from({ length: campaignSize(1, 4) }, (_, n) => seed + n)

describe('windows', () => {
  /** Of a job that is not disturbed. */
  let expected: readonly string[]

  beforeAll(async () => {
    await using undisturbed = new MiniCluster()
    const sink = new MemorySink<string>()
    await undisturbed.run(graphOf(sink))
    expected = canonical(sink.values)
  })

  it.each(SEEDS)('lose and repeat no result when slots are killed (WEIR_SEED=%i)', async (seed) => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: {
        ...QUICK_RESTARTS,
        'execution.checkpointing.dir': folder.path,
        'execution.checkpointing.interval': '10 ms',
      },
    })
    const sink = new MemorySink<string>('exactly-once')
    const job = cluster.startLocal(graphOf(sink, RATE))
    const random = seededRandom(seed)
    for (let kill = 0; kill < 3; kill++) {
      await job.waitFor('RUNNING')
      const turns = 20 + random.below(150)
      for (let i = 0; i < turns && job.status === 'RUNNING'; i++) await turn()
      if (job.status !== 'RUNNING') break
      job.killSlot(random.below(2))
      while (job.status === 'RUNNING') await turn()
      // The slot had already ended.
      if (job.status === 'FINISHED') break
    }
    await job.result
    expect(job.attempt).toBeGreaterThan(1)
    const results = canonical(sink.values)
    for (const name of Object.keys(WINDOWS)) {
      expect(results.filter((text) => text.startsWith(`${name}: `)).length).toBeGreaterThan(25)
    }
    expect(results).toEqual(expected)
  })
})
