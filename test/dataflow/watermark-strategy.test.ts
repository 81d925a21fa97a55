import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../src/connectors/memory/source.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import {
  boundedOutOfOrderness,
  generatedWatermarks,
  monotonousTimestamps,
  type WatermarkStrategy,
} from '../../src/dataflow/watermark-strategy.ts'
import { DiscardingSink } from '../../src/operators/basic/discarding-sink.ts'
import { OutputTag } from '../../src/operators/port/output-tag.ts'
import { tumblingEventTimeWindows } from '../../src/operators/windows/assigner.ts'
import { createLocalJob } from '../../src/runtime/job/local-executor.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'

const numbers = (to: number): number[] => Array.from({ length: to }, (_, i) => i)

/** A watermark behind each number that is a multiple of ten. */
const punctuated: WatermarkStrategy<number> = generatedWatermarks(
  () => ({
    onEvent: (value, timestamp, output) => {
      if (value % 10 === 0) output.emitWatermark(timestamp)
    },
    onPeriodicEmit() {},
  }),
  { timestampOf: (value) => value },
)

describe('watermark strategies', () => {
  it.each(['at the source', 'in the middle of a stream'])(
    'send a punctuated watermark directly behind its record, %s',
    async (place) => {
      await using cluster = new MiniCluster()
      const env = new StreamExecutionEnvironment()
      const late = new OutputTag<number>('late')
      const inTime = new MemorySink<number>()
      const tooLate = new MemorySink<number>()
      const source = new MemorySource([[1, 3, 10, 9, 12, 20, 18, 25]])
      const records =
        place === 'at the source'
          ? env.fromSource(source, punctuated)
          : env.fromSource(source).assignTimestampsAndWatermarks(punctuated)
      const sums = records
        .windowAll(tumblingEventTimeWindows(10))
        .sideOutputLateData(late)
        .reduce((a, b) => a + b)
      sums.sinkTo(inTime)
      sums.getSideOutput(late).sinkTo(tooLate)
      await cluster.run(env.graph())
      expect(tooLate.values).toEqual([9, 18])
      expect(inTime.values).toEqual([4, 22, 45])
    },
  )

  it('keep the event times of aligned sources within their drift of each other', async () => {
    await using cluster = new MiniCluster()
    const env = new StreamExecutionEnvironment()
    const read = { fast: -1, slow: -1 }
    let farthest = 0
    const aligned = (name: 'fast' | 'slow', size: number, maxPerPoll: number) => {
      const beforeRecord = (_: number, offset: number): void => {
        read[name] = offset
        if (read.slow < 3_999) farthest = Math.max(farthest, read.fast - read.slow)
      }
      const alignment = { group: 'all', maxDriftMs: 500, updateIntervalMs: 1 }
      const strategy = monotonousTimestamps<number>({ timestampOf: (n) => n, alignment })
      const source = new MemorySource([numbers(size)], { beforeRecord, maxPerPoll })
      return env.fromSource(source, strategy, name).uid(name)
    }
    const sink = new MemorySink<number>()
    aligned('slow', 4_000, 2)
      .union(aligned('fast', 100_000, 100))
      .sinkTo(sink)
    await cluster.run(env.graph())
    expect(sink.values).toHaveLength(104_000)
    // Until the first reports nothing is held back; without alignment it is nearly 100,000.
    expect(farthest).toBeLessThan(20_000)
  })

  it('do not count a source that waits for others as idle', async () => {
    const clock = new ManualClock()
    const env = new StreamExecutionEnvironment()
    const alignment = { group: 'all', maxDriftMs: 100, updateIntervalMs: 1 }
    const source = (values: readonly number[]) =>
      new MemorySource<number>([values], { maxPerPoll: 1, bounded: false })
    const timestampOf = (n: number): number => n
    env
      .fromSource(source([0]), monotonousTimestamps({ timestampOf, alignment }), 'behind')
      .sinkTo(new DiscardingSink())
    const sink = new MemorySink<number>()
    const waiting = monotonousTimestamps<number>({ timestampOf, idleAfterMs: 500, alignment })
    env
      .fromSource(source(numbers(100_000)), waiting, 'waiting')
      .union(env.fromSource(source([1_000_000]), monotonousTimestamps({ timestampOf }), 'others'))
      .windowAll(tumblingEventTimeWindows(200_000))
      .reduce((a) => a)
      .sinkTo(sink)
    const configuration = { 'state.backend.type': 'heap' }
    const job = createLocalJob({ graph: env.graph(), clock, configuration })
    job.start()
    await job.waitFor('RUNNING')
    // A second passes in steps of 10 ms, while the job works.
    for (let step = 0; step < 100; step++) {
      clock.advance(10)
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(sink.values).toEqual([])
    await job.cancel()
  })

  it('refuse an alignment in the middle of a stream, and one that cannot be', () => {
    const env = new StreamExecutionEnvironment()
    const alignment = { group: 'all', maxDriftMs: 500 }
    expect(() =>
      env.fromElements([1]).assignTimestampsAndWatermarks(boundedOutOfOrderness(1, { alignment })),
    ).toThrow('give its strategy to fromSource')
    for (const wrong of [
      { group: '', maxDriftMs: 1 },
      { group: 'all', maxDriftMs: -1 },
      { group: 'all', maxDriftMs: 1, updateIntervalMs: 0 },
    ]) {
      expect(() => monotonousTimestamps({ alignment: wrong })).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      )
    }
  })
})
