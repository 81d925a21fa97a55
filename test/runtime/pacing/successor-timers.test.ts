import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { MAX_TIMESTAMP } from '../../../src/core/time.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import type { TimeDomain } from '../../../src/operators/process/function.ts'
import { globalWindows } from '../../../src/operators/windows/assigner.ts'
import { continuousEventTimeTrigger } from '../../../src/operators/windows/continuous-trigger.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder } from '../job-fixture.ts'

const LIMIT = 'execution.end-of-input.max-timers'
const MINUTE = 60_000
/** Of a timer that fires when the input has ended. */
const AT_END = MAX_TIMESTAMP

interface Ticks {
  readonly sink: MemorySink<number>
  /** Event time of the last timer; without it each registers another one. */
  readonly lastAt?: number
  readonly domain?: TimeDomain
  /** @default true */
  readonly bounded?: boolean
  /** A second, unbounded source, so that the job goes on when the other ends. */
  readonly beside?: boolean
}

/** One event, whose timer each minute of event time, or each ms of the wall clock, registers the next one. */
function ticking({
  sink,
  lastAt,
  domain = 'event-time',
  bounded = true,
  beside,
}: Ticks): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  env
    .fromSource(
      new MemorySource([[1]], { bounded }),
      boundedOutOfOrderness(0, { timestampOf: (event: number) => event }),
    )
    .keyBy((event) => event)
    .process<number>(() => ({
      processElement(_event, { timerService }) {
        if (domain === 'event-time') timerService.registerEventTimeTimer(MINUTE)
        else {
          timerService.registerProcessingTimeTimer(timerService.currentProcessingTime)
          timerService.registerEventTimeTimer(AT_END)
        }
      },
      onTimer(timestamp, { timerService, timeDomain }, out) {
        out.collect(timestamp)
        if (timeDomain === 'processing-time')
          timerService.registerProcessingTimeTimer(timestamp + 1)
        else if (timestamp !== AT_END && (lastAt === undefined || timestamp < lastAt)) {
          timerService.registerEventTimeTimer(timestamp + MINUTE)
        }
      },
    }))
    .sinkTo(sink)
  if (beside === true) {
    env.fromSource(new MemorySource([[2]], { bounded: false })).sinkTo(new MemorySink<number>())
  }
  return env.graph('ticking')
}

const minutes = (count: number): number[] =>
  Array.from({ length: count }, (_, i) => (i + 1) * MINUTE)

describe('timers that register their successors', () => {
  it('run to their own end when a bounded input ends', async () => {
    await using cluster = new MiniCluster({ configuration: { [LIMIT]: '1000' } })
    const sink = new MemorySink<number>()
    await cluster.run(ticking({ sink, lastAt: 1001 * MINUTE }))
    expect(sink.values).toEqual(minutes(1001))
  })

  it('end the job with an error that names the limit, when they have no end', async () => {
    await using cluster = new MiniCluster({ configuration: { [LIMIT]: '1000' } })
    const job = cluster.startLocal(ticking({ sink: new MemorySink<number>() }))
    await expect(job.result).rejects.toThrow(
      /has registered 1000 event-time timers since its input ended.*raise execution\.end-of-input\.max-timers/,
    )
    expect(job.attempt).toBe(1)
  })

  it('end a drain with that error, too', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { [LIMIT]: '1000', 'execution.checkpointing.dir': folder.path },
    })
    const job = cluster.startLocal(ticking({ sink: new MemorySink<number>(), bounded: false }))
    await until('the job runs', () => job.status === 'RUNNING')
    const stopped = job.stopWithSavepoint({ drain: true })
    await Promise.all([
      expect(job.result).rejects.toThrow(/max-timers/),
      expect(stopped).rejects.toThrow(),
    ])
  })

  it('are limited in a trigger whose window never ends, as in a function', async () => {
    await using cluster = new MiniCluster({ configuration: { [LIMIT]: '1000' } })
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    const sink = new MemorySink<number>()
    env
      .fromSource(
        new MemorySource([[1, 2]]),
        boundedOutOfOrderness(0, { timestampOf: (event: number) => event }),
      )
      .keyBy(() => 0)
      .window(globalWindows())
      .trigger(continuousEventTimeTrigger(MINUTE))
      .process<number>(() => ({ process: (_key, _context, all, out) => out.collect(all.length) }))
      .sinkTo(sink)
    await expect(cluster.run(env.graph('endless'))).rejects.toThrow(/max-timers/)
  })

  it('stop in processing time when the input of their operator ends, and others go on', async () => {
    await using cluster = new MiniCluster()
    const sink = new MemorySink<number>()
    const job = cluster.startLocal(ticking({ sink, domain: 'processing-time', beside: true }))
    await until('the input has ended', () => sink.values.includes(AT_END))
    const { length } = sink.values
    const endedMs = performance.now()
    // Each ms had a timer before.
    await until('a timer would have fired', () => performance.now() > endedMs + 50)
    await job.cancel()
    expect(sink.values).toHaveLength(length)
  })
})
