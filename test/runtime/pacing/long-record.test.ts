import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import { slidingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { eventTimeTrigger } from '../../../src/operators/windows/trigger.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder } from '../job-fixture.ts'

interface Event {
  readonly key: string
  readonly time: number
}

/** Windows of each record, or one more. */
const WINDOWS = 2000
const SLIDE_MS = 2
/** No multiple of the slide: each window has contents of its own. */
const SIZE_MS = WINDOWS * SLIDE_MS + 1
const EVENTS: readonly Event[] = [
  { key: 'a', time: 10_000 },
  { key: 'b', time: 10_001 },
  { key: 'a', time: 10_007 },
]
/** What a fold takes for a record in a window. */
const FOLD_MS = 0.02

function work(): void {
  for (const endMs = performance.now() + FOLD_MS; performance.now() < endMs; );
}

interface LongJob {
  readonly sink: MemorySink<string>
  /** @default true */
  readonly bounded?: boolean
  readonly trigger?: boolean
  /** Whether a record at which the fold throws is left out. */
  readonly skips?: boolean
  /** Called with the key of a record that enters a window. */
  readonly onAdd?: (key: string) => void
}

/** The number of records of each key and window. */
function graphOf({
  sink,
  bounded = true,
  trigger = false,
  skips = false,
  onAdd,
}: LongJob): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  const source = new MemorySource([[...EVENTS]], { bounded })
  const windowed = env
    .fromSource(source, boundedOutOfOrderness(100, { timestampOf: ({ time }: Event) => time }))
    .keyBy(({ key }) => key)
    .window(slidingEventTimeWindows(SIZE_MS, SLIDE_MS))
  const ending = trigger ? windowed.trigger(eventTimeTrigger()) : windowed
  const counts = ending.aggregate<number, number, string>(
    {
      createAccumulator: () => 0,
      add: ({ key }, count) => {
        work()
        onAdd?.(key)
        return count + 1
      },
      getResult: (count) => count,
      merge: (a, b) => a + b,
    },
    () => ({
      process: (key, { window }, [count], out) => out.collect(`${key}@${window.start}: ${count}`),
    }),
  )
  if (skips) counts.onError('skip')
  counts.sinkTo(sink)
  return env.graph('long')
}

/** By plain computation: how many events of a key each window has. */
function expectedCounts(): string[] {
  const counts = new Map<string, number>()
  for (const { key, time } of EVENTS) {
    const last = time - (time % SLIDE_MS)
    for (let start = last; start > time - SIZE_MS; start -= SLIDE_MS) {
      const name = `${key}@${start}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  return [...counts].map(([name, count]) => `${name}: ${count}`).toSorted()
}

describe.each([
  ['the default trigger', false],
  ['a trigger', true],
])('a record of very many windows with %s', (_name, trigger) => {
  it('enters each once', async () => {
    await using cluster = new MiniCluster()
    const sink = new MemorySink<string>()
    await cluster.run(graphOf({ sink, trigger }))
    expect(sink.values.toSorted()).toEqual(expectedCounts())
  })

  it('lets the slot do other work on its way', async () => {
    await using cluster = new MiniCluster()
    let added = 0
    const job = cluster.startLocal(
      graphOf({ sink: new MemorySink<string>(), trigger, onAdd: () => added++ }),
    )
    const addedByTurn: number[] = []
    const turn = (): void => {
      addedByTurn.push(added)
      if (job.status === 'RUNNING' || added === 0) setImmediate(turn)
    }
    turn()
    await job.result
    const between = addedByTurn.map((count, n) => count - (addedByTurn[n - 1] ?? 0))
    // The first part is of so many windows, a slice after it a millisecond.
    expect(Math.max(...between)).toBeLessThan(WINDOWS / 4)
  })

  it('is whole in a savepoint that is asked for on its way', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path },
    })
    const [first, second] = [new MemorySink<string>('exactly-once'), new MemorySink<string>()]
    let added = 0
    const job = cluster.startLocal(
      graphOf({ sink: first, trigger, bounded: false, onAdd: () => added++ }),
    )
    await until('the record is on its way', () => added > 0, { everyMs: 0 })
    expect(added).toBeLessThan(WINDOWS)
    const savepoint = await job.triggerSavepoint()
    await job.cancel()

    await cluster.run(graphOf({ sink: second, trigger }), { restoreFrom: savepoint })
    expect(second.values.toSorted()).toEqual(expectedCounts())
  })

  it('is left out of the rest of its windows when the function throws in one of them', async () => {
    await using cluster = new MiniCluster()
    const sink = new MemorySink<string>()
    let addedToB = 0
    const onAdd = (key: string): void => {
      if (key === 'b' && ++addedToB === WINDOWS - 100) throw new Error('full')
    }
    await cluster.run(graphOf({ sink, trigger, skips: true, onAdd }))
    const isOfA = (text: string): boolean => text.startsWith('a@')
    expect(sink.values.filter(isOfA).toSorted()).toEqual(expectedCounts().filter(isOfA))
    expect(sink.values.filter((text) => !isOfA(text))).toHaveLength(WINDOWS - 101)
  })

  it('ends on its way when the job is canceled', async () => {
    await using cluster = new MiniCluster()
    let added = 0
    const job = cluster.startLocal(
      graphOf({ sink: new MemorySink<string>(), trigger, onAdd: () => added++ }),
    )
    await until('the record is on its way', () => added > 0, { everyMs: 0 })
    await job.cancel()
    expect(added).toBeLessThan(EVENTS.length * WINDOWS)
  })
})
