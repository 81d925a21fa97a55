import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder } from '../job-fixture.ts'

interface Event {
  readonly key: number
  readonly time: number
}

const DAY = 86_400_000
const KEYS = 500
/** A window function that takes so long: the pass over a day's windows takes a sixth of a second. */
const FUNCTION_MS = 0.3

function work(): void {
  for (const endMs = performance.now() + FUNCTION_MS; performance.now() < endMs; );
}

/** A record of each key on the first day, then one record of the key -1 on each later day. */
const events = (laterDays: number): Event[] => [
  ...Array.from({ length: KEYS }, (_, key) => ({ key, time: 2 * key })),
  ...Array.from({ length: laterDays }, (_, day) => ({ key: -1, time: (day + 1) * DAY + 1 })),
]

interface DayJob {
  readonly laterDays: number
  readonly sink: MemorySink<number>
  /** @default true */
  readonly bounded?: boolean
  readonly onFire?: () => void
}

/** The key of each window of a day, by a window function or by timers of the keys. */
const JOBS: Readonly<Record<string, (job: DayJob) => StreamGraph>> = {
  'windows of a day': (job) => {
    const { env, keyed } = start(job)
    keyed
      .window(tumblingEventTimeWindows(DAY))
      .process(() => ({
        process(key, _context, _elements, out) {
          work()
          job.onFire?.()
          out.collect(key)
        },
      }))
      .sinkTo(job.sink)
    return env.graph('day')
  },
  'timers of one moment': (job) => {
    const { env, keyed } = start(job)
    keyed
      .process<number>(() => ({
        processElement({ time }, context) {
          context.timerService.registerEventTimeTimer(DAY * (1 + Math.floor(time / DAY)) - 1)
        },
        onTimer(_timestamp, context, out) {
          work()
          job.onFire?.()
          out.collect(context.currentKey)
        },
      }))
      .sinkTo(job.sink)
    return env.graph('day')
  },
}

function start({ laterDays, bounded = true }: DayJob) {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  const source = new MemorySource([events(laterDays)], { bounded })
  const keyed = env
    .fromSource(source, boundedOutOfOrderness(0, { timestampOf: ({ time }: Event) => time }))
    .keyBy(({ key }) => key)
  return { env, keyed }
}

describe.each(Object.entries(JOBS))('a pass over %s', (_name, graphOf) => {
  it('lets a savepoint through, which holds what is still to fire', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path },
    })
    const [first, second] = [new MemorySink<number>('exactly-once'), new MemorySink<number>()]
    let fired = 0
    const job = cluster.startLocal(
      graphOf({ laterDays: 1, sink: first, bounded: false, onFire: () => fired++ }),
    )
    await until('the pass goes on', () => fired > 10, { everyMs: 0 })
    const savepoint = await job.triggerSavepoint()
    await job.cancel()
    const before = [...first.values]
    expect(before.length).toBeGreaterThan(0)
    expect(before.length).toBeLessThan(KEYS)

    // Nothing more comes: what is due fires without another watermark.
    const rest = graphOf({ laterDays: 1, sink: second, bounded: false })
    const restored = cluster.startLocal(rest, { restoreFrom: savepoint })
    await until('the rest has fired', () => before.length + second.values.length >= KEYS)
    await restored.cancel()
    const days = [...before, ...second.values].filter((key) => key >= 0)
    expect(days.toSorted((a, b) => a - b)).toEqual(Array.from({ length: KEYS }, (_, key) => key))
  })

  it('lets the slot do other work every few milliseconds', async () => {
    await using cluster = new MiniCluster()
    const sink = new MemorySink<number>()
    let fired = 0
    const job = cluster.startLocal(graphOf({ laterDays: 1, sink, onFire: () => fired++ }))
    const firedByTurn: number[] = []
    const turn = (): void => {
      firedByTurn.push(fired)
      if (job.status === 'RUNNING' || fired === 0) setImmediate(turn)
    }
    turn()
    await job.result
    const between = firedByTurn.map((count, n) => count - (firedByTurn[n - 1] ?? 0))
    // A slice is a millisecond, and the function takes a third of one.
    expect(Math.max(...between)).toBeLessThan(KEYS / 5)
  })

  it('ends when the job is canceled', async () => {
    await using cluster = new MiniCluster()
    const sink = new MemorySink<number>()
    const job = cluster.startLocal(graphOf({ laterDays: 1, sink }))
    await until('the pass goes on', () => sink.values.length > 10, { everyMs: 0 })
    await job.cancel()
    expect(sink.values.length).toBeLessThan(KEYS)
  })

  it('fires every timer before the records behind the watermark, and before the end', async () => {
    await using cluster = new MiniCluster()
    const sink = new MemorySink<number>()
    await cluster.run(graphOf({ laterDays: 3, sink }))
    const expected = [...Array.from({ length: KEYS }, (_, key) => key), -1, -1, -1]
    expect(sink.values.slice(KEYS)).toEqual([-1, -1, -1])
    expect(sink.values.toSorted((a, b) => a - b)).toEqual(expected.toSorted((a, b) => a - b))
  })
})
