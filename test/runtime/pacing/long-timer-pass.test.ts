import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { createLocalJob } from '../../../src/runtime/job/local-executor.ts'
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
const HOUR = 3_600_000

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
  /** Called for each record that the source has read. */
  readonly onRecord?: () => void
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

function start({ laterDays, bounded = true, onRecord }: DayJob) {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  const source = new MemorySource([events(laterDays)], { bounded })
  const timestampOf = ({ time }: Event): number => {
    onRecord?.()
    return time
  }
  const keyed = env
    .fromSource(source, boundedOutOfOrderness(0, { timestampOf }))
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

/** Timers of the wall clock, one of each key, that are due in an hour. */
function clockGraph(job: DayJob): StreamGraph {
  const { env, keyed } = start(job)
  keyed
    .process<number>(() => ({
      processElement(_event, { timerService }) {
        timerService.registerProcessingTimeTimer(timerService.currentProcessingTime + HOUR)
      },
      onTimer(_timestamp, context, out) {
        work()
        job.onFire?.()
        out.collect(context.currentKey)
      },
    }))
    .sinkTo(job.sink)
  return env.graph('clock')
}

/** The most calls between two turns of the event loop while a job fires, and the sink of its results. */
async function longestSlice(
  run: (job: DayJob) => Promise<JobExecution>,
): Promise<{ readonly calls: number; readonly keys: readonly number[] }> {
  const sink = new MemorySink<number>()
  let fired = 0
  const byTurn: number[] = []
  const job = await run({ laterDays: 0, sink, onFire: () => fired++ })
  const turn = (): void => {
    byTurn.push(fired)
    if (fired < KEYS) setImmediate(turn)
  }
  turn()
  await until('every timer has fired', () => fired >= KEYS)
  await job.cancel().catch(() => undefined)
  const between = byTurn.map((count, n) => count - (byTurn[n - 1] ?? 0))
  return { calls: Math.max(...between), keys: sink.values.toSorted((a, b) => a - b) }
}

describe('timers that are due without a watermark of a record let the slot do other work', () => {
  const EVERY_KEY = Array.from({ length: KEYS }, (_, key) => key)

  it.each(Object.entries(JOBS))('at the end of the input (%s)', async (_, graphOf) => {
    await using cluster = new MiniCluster()
    const { calls, keys } = await longestSlice(async (job) => cluster.startLocal(graphOf(job)))
    expect(calls).toBeLessThan(KEYS / 5)
    expect(keys).toEqual(EVERY_KEY)
  })

  it.each(Object.entries(JOBS))('at a drain (%s)', async (_, graphOf) => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path },
    })
    let records = 0
    const { calls, keys } = await longestSlice(async (job) => {
      const endless = { ...job, bounded: false, onRecord: () => records++ }
      const running = cluster.startLocal(graphOf(endless))
      await until('all records are read', () => records === KEYS)
      running.stopWithSavepoint({ drain: true }).catch(() => undefined)
      return running
    })
    expect(calls).toBeLessThan(KEYS / 5)
    expect(keys).toEqual(EVERY_KEY)
  })

  it('of the wall clock, behind a downtime', async () => {
    using folder = checkpointFolder()
    const configuration = { 'execution.checkpointing.dir': folder.path }
    await using cluster = new MiniCluster({ configuration })
    let records = 0
    const before = { laterDays: 0, sink: new MemorySink<number>(), bounded: false }
    const first = cluster.startLocal(clockGraph({ ...before, onRecord: () => records++ }))
    await until('all records are read', () => records === KEYS)
    const savepoint = await first.stopWithSavepoint()
    const later: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 2 * HOUR }
    const { calls, keys } = await longestSlice(async (job) => {
      const restored = createLocalJob({
        graph: clockGraph({ ...job, bounded: false }),
        configuration,
        restoreFrom: savepoint,
        clock: later,
        random: seededRandom(1),
      })
      restored.start()
      return restored
    })
    expect(calls).toBeLessThan(KEYS / 5)
    expect(keys).toEqual(EVERY_KEY)
  })
})
