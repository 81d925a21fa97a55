import { describe, expect, it, vi } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import {
  generatedWatermarks,
  monotonousTimestamps,
} from '../../../src/dataflow/watermark-strategy.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import {
  eventTimeSessionWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  type WindowAssigner,
} from '../../../src/operators/windows/assigner.ts'
import { eventTimeTrigger } from '../../../src/operators/windows/trigger.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'

const LAST = Number.MAX_SAFE_INTEGER
/** Times that no window reaches: none, beyond the last date, and before the first one. */
const UNTIMELY = [-1, LAST, 8.64e15 + 1, -LAST, -8.64e15 - 1]
const TIMES = [5, ...UNTIMELY, 6]

/** The late records of a stream, and its results. */
interface Built {
  readonly results: DataStream<string>
  readonly late: DataStream<number> | undefined
}

const LATE = new OutputTag<number>('late')

const windows =
  (assigner: WindowAssigner, { sums = false, trigger = false } = {}) =>
  (times: DataStream<number>, sideOutput: boolean): Built => {
    const all = times.keyBy(() => 'all').window(assigner)
    const ending = trigger ? all.trigger(eventTimeTrigger()) : all
    const windowed = sideOutput ? ending.sideOutputLateData(LATE) : ending
    const lateOf = <T>(stream: DataStream<T>) =>
      sideOutput ? stream.getSideOutput(LATE) : undefined
    if (sums) {
      const summed = windowed.reduce((a, b) => a + b, { associative: true })
      return { results: summed.map(String), late: lateOf(summed) }
    }
    const results = windowed.process<string>(() => ({
      process: (_key, _context, elements, out) => out.collect(elements.join(' ')),
    }))
    return { results, late: lateOf(results) }
  }

const joined = (times: DataStream<number>): Built => {
  const keyed = times.keyBy(() => 'all')
  const results = keyed
    .intervalJoin(keyed)
    .between(0, 1)
    .process<string>(() => ({ processElement: (a, b, _, out) => out.collect(`${a} ${b}`) }))
  return { results, late: undefined }
}

/** Streams with the results of the two records that have a time. */
const STREAMS: Readonly<
  Record<string, readonly [(times: DataStream<number>, late: boolean) => Built, string[]]>
> = {
  'tumbling windows': [windows(tumblingEventTimeWindows(10)), ['5 6']],
  'tumbling windows folded by senders': [
    windows(tumblingEventTimeWindows(10), { sums: true }),
    ['11'],
  ],
  'sliding windows': [windows(slidingEventTimeWindows(20, 10)), ['5 6', '5 6']],
  'sliding windows with slices': [
    windows(slidingEventTimeWindows(20, 10), { sums: true }),
    ['11', '11'],
  ],
  sessions: [windows(eventTimeSessionWindows(10)), ['5 6']],
  'sessions folded by senders': [windows(eventTimeSessionWindows(10), { sums: true }), ['11']],
  'windows with a trigger': [windows(tumblingEventTimeWindows(10), { trigger: true }), ['5 6']],
  'an interval join': [joined, ['5 5', '5 6', '6 6']],
}

/** Runs a stream without a watermark before its end, because that would follow a record that is far ahead. */
async function run(
  build: (times: DataStream<number>, late: boolean) => Built,
  sideOutput: boolean,
) {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  const times = env.fromElements(
    TIMES,
    generatedWatermarks<number>(() => ({ onEvent() {}, onPeriodicEmit() {} }), {
      timestampOf: (time) => time,
    }),
  )
  const [results, lateRecords] = [new MemorySink<string>(), new MemorySink<number>()]
  const built = build(times, sideOutput)
  built.results.sinkTo(results)
  built.late?.sinkTo(lateRecords)
  await using cluster = new MiniCluster({ configuration: { 'restart-strategy.type': 'none' } })
  const job = cluster.startLocal(env.graph('times'))
  const warnings: string[] = []
  job.onWarning(({ error: { code, message } }) => warnings.push(`${code}: ${message}`))
  await job.result
  return { results: results.values.toSorted(), late: lateRecords.values, warnings }
}

describe('a record without an event time, or with one that no date has', () => {
  it.each(Object.entries(STREAMS))(
    'is late in %s: it is counted, or goes to the side output, and the job is warned once',
    async (_, [build, expected]) => {
      const dropped = await run(build, false)
      expect(dropped.results).toEqual(expected)
      expect(dropped.warnings.filter((text) => text.startsWith('NO_EVENT_TIME'))).toEqual([
        expect.stringMatching(/reached the .* has no timestamp: .* It counts as late/),
      ])
      if (build === joined) return
      const kept = await run(build, true)
      expect(kept.results).toEqual(expected)
      expect(kept.late.toSorted((a, b) => a - b)).toEqual(UNTIMELY.toSorted((a, b) => a - b))
    },
  )

  it('is in a session with a gap that has no end, which ends with the input', async () => {
    const { results } = await run(windows(eventTimeSessionWindows(LAST)), false)
    expect(results).toEqual(['5 6'])
  })

  it('makes a program that only waits for its result print a warning', async () => {
    const printed = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    try {
      const env = new StreamExecutionEnvironment({ executor: new LocalExecutor() })
      const times = env.fromElements([1, 2], monotonousTimestamps())
      times
        .keyBy(() => 'all')
        .window(tumblingEventTimeWindows(10))
        .reduce((a) => a)
        .discard()
      await env.execute()
      expect(printed.mock.calls).toEqual([
        [
          expect.stringContaining('give the watermark strategy a timestampOf'),
          { code: 'WEIR_NO_EVENT_TIME' },
        ],
      ])
    } finally {
      printed.mockRestore()
    }
  })
})
