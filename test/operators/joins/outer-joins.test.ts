import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import type { JoinedWindows } from '../../../src/dataflow/joined-streams.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'
import { StreamHarness } from '../../../src/testing/stream-harness.ts'

interface Row {
  readonly minute: number
  readonly num: number
  readonly id: string
}

/** The tables of the page of window joins in Flink's documentation. */
const LEFT: readonly Row[] = [
  { minute: 2, num: 1, id: 'L1' },
  { minute: 6, num: 2, id: 'L2' },
  { minute: 3, num: 3, id: 'L3' },
]
const RIGHT: readonly Row[] = [
  { minute: 1, num: 2, id: 'R2' },
  { minute: 4, num: 3, id: 'R3' },
  { minute: 5, num: 4, id: 'R4' },
]

const MINUTE = 60_000

async function joinedRows(
  apply: (windows: JoinedWindows<Row, Row>) => DataStream<string>,
): Promise<string[]> {
  const env = new StreamExecutionEnvironment({ executor: new LocalExecutor() })
  const watermarks = boundedOutOfOrderness<Row>(10 * MINUTE, {
    timestampOf: ({ minute }) => minute * MINUTE,
  })
  const windows = env
    .fromElements(LEFT, watermarks)
    .join(env.fromElements(RIGHT, watermarks))
    .where(({ num }) => num)
    .equalTo(({ num }) => num)
    .window(tumblingEventTimeWindows(5 * MINUTE))
  const sink = new MemorySink<string>()
  apply(windows).sinkTo(sink)
  await env.execute('joins')
  return [...sink.values].sort()
}

const text = (left: Row | undefined, right: Row | undefined): string => `${left?.id} ${right?.id}`

describe('an outer join in windows', () => {
  it('gives the rows of the documentation of Flink', async () => {
    const full = ['L1 undefined', 'L2 undefined', 'L3 R3', 'undefined R2', 'undefined R4']
    expect(await joinedRows((w) => w.fullOuter().apply(text))).toEqual(full)
    expect(await joinedRows((w) => w.leftOuter().apply(text))).toEqual(full.slice(0, 3))
    expect(await joinedRows((w) => w.rightOuter().apply(text))).toEqual(full.slice(2))
    expect(await joinedRows((w) => w.apply(text))).toEqual(['L3 R3'])
  })

  it('passes the same to functions with a life and with any number of results', async () => {
    const full = await joinedRows((w) => w.fullOuter().apply(text))
    const rich = await joinedRows((w) => w.fullOuter().richApply(() => ({ join: text })))
    const flat = await joinedRows((w) =>
      w.fullOuter().flatApply((left, right, out) => out.collect(text(left, right))),
    )
    const richFlat = await joinedRows((w) =>
      w.fullOuter().richFlatApply(() => ({ join: (l, r, out) => out.collect(text(l, r)) })),
    )
    expect([rich, flat, richFlat]).toEqual([full, full, full])
  })
})

describe('an outer interval join', () => {
  const late = new OutputTag<number>('late')

  const open = () =>
    StreamHarness.open<[number, number], string>((left, right) =>
      left
        .keyBy(() => 'key')
        .intervalJoin(right.keyBy(() => 'key'))
        .between(0, 10)
        .sideOutputLeftLateData(late)
        .leftOuter()
        .process<string>(() => ({
          processElement: (a, b, { timestamp }, out) => out.collect(`${a} ${b} at ${timestamp}`),
        })),
    )

  it('emits a record without a partner when none can come any more, in front of the watermark', async () => {
    const harness = await open()
    harness.process(1, 1, 0)
    harness.process(2, 2, 0)
    harness.process(12, 12, 1)
    harness.watermark(10)
    expect(harness.values).toEqual(['2 12 at 12'])
    expect(harness.watermarks).toEqual([0])
    harness.watermark(11)
    expect(harness.values).toEqual(['2 12 at 12', '1 undefined at 1'])
    expect(harness.watermarks).toEqual([0, 1])
    harness.endInput()
    expect(harness.values).toHaveLength(2)
  })

  it('sends a late record to its side output alone', async () => {
    const harness = await open()
    harness.watermark(20)
    harness.process(5, 5, 0)
    harness.endInput()
    expect(harness.sideOutput(late)).toEqual([{ value: 5, timestamp: 5 }])
    expect(harness.values).toEqual([])
  })
})
