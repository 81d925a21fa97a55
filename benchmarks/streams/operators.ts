import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
import {
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { rounded } from '../load/statistics.ts'
import { FLINK_ROCKSDB_POM, FlinkProgram } from './flink.ts'

/** A record of the benchmarks. */
export interface Reading {
  readonly key: number
  readonly time: number
  readonly value: number
}

/** How the records of a benchmark come. */
export interface Shape {
  readonly records: number
  readonly keys: number
  /** Records of one ms. */
  readonly perMs: number
  /** How far watermarks are behind, in ms. */
  readonly behindMs: number
}

/** One job over a stream of readings. */
export interface Measured {
  readonly name: string
  readonly summary: string
  readonly shape: Shape
  /** At most so many us a record. @default no limit but Flink's */
  readonly mostUs?: number
  /** Flink's program that has the job, and how much of its processor time the job may take. @default Operators */
  readonly flink?: FlinkJobs
  build(readings: DataStream<Reading>): { discard(): unknown }
}

/** A program with jobs for Flink. */
export interface FlinkJobs {
  readonly main: string
  /** Its dependencies. */
  readonly pom: string
  /** The processor time of a job, over Flink's, at most. */
  readonly mostOfFlink: number
}

const OPERATORS: FlinkJobs = { main: 'Operators', pom: FLINK_ROCKSDB_POM, mostOfFlink: 1.2 }

/** Share of the records before the clock starts: the compiler is done with the operators then. */
const WARM_UP = 0.2

/** What a run took. */
interface Costs {
  /** Of a record. */
  readonly us: number
  /** Of processors, garbage collection included. */
  readonly cpuUs: number
  /** Longest time between two turns of the event loop, in which barriers and cancels come. */
  readonly longestMs: number
}

/** Runs a job in one subtask. Returns the us of a record after the first fifth, the end of input included. */
async function run(
  { shape, build }: Pick<Measured, 'shape' | 'build'>,
  records: number,
): Promise<Costs> {
  const { keys, perMs, behindMs } = shape
  const from = Math.round(records * WARM_UP)
  let startMs = 0
  let startCpu = process.cpuUsage()
  const source = new GeneratorSource<Reading>({
    countPerPartition: records,
    generate: (index) => {
      if (index === from) {
        startMs = systemClock.monotonicMs()
        startCpu = process.cpuUsage()
      }
      const time = Math.floor(index / perMs)
      // The key says whether the index is even; without its higher bit no key of a join would have both sides.
      const value = (index ^ (index >>> 5)) & 1
      return { key: Math.imul(index, 0x9e3779b1) % keys, time, value }
    },
    timestampOf: ({ time }) => time,
  })
  const env = new StreamExecutionEnvironment({ parallelism: 1, executor: new LocalExecutor() })
  build(env.fromSource(source, boundedOutOfOrderness<Reading>(behindMs))).discard()
  const turns = monitorEventLoopDelay({ resolution: 20 })
  turns.enable()
  await env.execute('operators')
  turns.disable()
  const us = ((systemClock.monotonicMs() - startMs) * 1000) / (records - from)
  const { user, system } = process.cpuUsage(startCpu)
  return { us, cpuUs: (user + system) / (records - from), longestMs: turns.max / 1e6 }
}

/** What Flink took for the same records. */
type FlinkCosts = Pick<Costs, 'us' | 'cpuUs'>

const FLINK = 'Flink 1.20, heap'
/** For 10 M timers. */
const FLINK_HEAP_GB = 6
/** Flink's costs of a job; undefined without Java or Maven. */
async function runFlink(
  name: string,
  { records, keys, perMs, behindMs }: Shape,
  { scratch, say }: BenchmarkOptions,
  { main, pom }: FlinkJobs = OPERATORS,
): Promise<FlinkCosts | undefined> {
  try {
    const folder = join(scratch, 'classes')
    const program = await FlinkProgram.compile(main, folder, pom)
    const output = await program.run([name, records, keys, perMs, behindMs], FLINK_HEAP_GB)
    return JSON.parse(output) as FlinkCosts
  } catch (error) {
    say(`without Flink: ${(error as Error).message}`)
    return undefined
  }
}

/** The processor time of a record, beside Flink's. */
function cpuFigure(
  name: string,
  cpuUs: number,
  flink: FlinkCosts | undefined,
  { mostOfFlink }: FlinkJobs = OPERATORS,
): Figure {
  return {
    name: `${name}-cpu`,
    value: rounded(cpuUs),
    unit: 'us a record',
    targetRatio: mostOfFlink,
    higher: false,
    ...(flink === undefined ? {} : { rival: rounded(flink.cpuUs), rivalName: FLINK }),
  }
}

/** The figures of a job: the time of a record, and that of processors. */
export async function measure(measured: Measured, options: BenchmarkOptions): Promise<Figure[]> {
  const { scale } = options
  const records = Math.max(1000, Math.round(measured.shape.records * scale))
  const plain = await run(
    { ...measured, build: (readings) => readings.map((each) => each) },
    records,
  )
  const { us, cpuUs, longestMs } = await run(measured, records)
  const flink = await runFlink(
    measured.name,
    { ...measured.shape, records },
    options,
    measured.flink,
  )
  const figure: Figure = {
    name: measured.name,
    value: rounded(us),
    unit: 'us a record',
    ...(measured.mostUs === undefined ? {} : { target: measured.mostUs }),
    higher: false,
    ...(flink === undefined ? {} : { rival: rounded(flink.us), rivalName: FLINK }),
    details: {
      records,
      plainMapUs: rounded(plain.us),
      longestTurnMs: rounded(longestMs),
    },
  }
  return [figure, cpuFigure(measured.name, cpuUs, flink, measured.flink)]
}

const joined =
  (boundMs: number) =>
  (readings: DataStream<Reading>): { discard(): unknown } => {
    const side = (value: number) =>
      readings.filter((reading) => reading.value === value).keyBy(({ key }) => key)
    return side(0)
      .intervalJoin(side(1))
      .between(0, boundMs)
      .process(() => ({ processElement() {} }))
  }

const MEASURED: readonly Measured[] = [
  {
    name: 'stream-join-hot',
    summary: 'interval join of one key, 2,000 records buffered, us a record',
    shape: { records: 300_000, keys: 1, perMs: 1, behindMs: 2000 },
    mostUs: 10,
    build: joined(1),
  },
  {
    name: 'stream-join-small',
    summary: 'interval join of 1,000 keys with small buffers, us a record',
    shape: { records: 1_000_000, keys: 1000, perMs: 1, behindMs: 100 },
    mostUs: 3,
    build: joined(1000),
  },
  {
    name: 'stream-count-window',
    summary: 'countWindow(100, 1) of 1,000 keys, us a record',
    shape: { records: 1_000_000, keys: 1000, perMs: 1, behindMs: 100 },
    mostUs: 3,
    build: (readings) =>
      readings
        .keyBy(({ key }) => key)
        .countWindow(100, 1)
        .reduce((a, b) => (a.value > b.value ? a : b)),
  },
  {
    name: 'stream-sliding-process',
    summary: 'sliding windows, ten of each record, with process, us a record',
    shape: { records: 1_000_000, keys: 1000, perMs: 1, behindMs: 0 },
    mostUs: 5,
    build: (readings) =>
      readings
        .keyBy(({ key }) => key)
        .window(slidingEventTimeWindows(10_000, 1000))
        .process<number>(() => ({
          process: (_key, _context, elements, out) => out.collect(elements.length),
        })),
  },
  {
    name: 'stream-tumbling-late',
    summary: 'tumbling reduce with allowed lateness, 1 M keys, us a record',
    shape: { records: 4_000_000, keys: 1_000_000, perMs: 1, behindMs: 0 },
    mostUs: 4,
    build: (readings) =>
      readings
        .keyBy(({ key }) => key)
        .window(tumblingEventTimeWindows(1_000_000))
        .allowedLateness(500_000)
        .reduce(({ key, time, value }, b) => ({ key, time, value: value + b.value })),
  },
]

const TIMERS = 10_000_000
const MOST_SECONDS = 20

/** Timers of one moment, in one subtask: how long they take to fire, and the longest turn meanwhile. */
async function measureTimers(options: BenchmarkOptions): Promise<Figure[]> {
  const { scale } = options
  const timers = Math.round(TIMERS * scale)
  const source = new GeneratorSource<number>({
    countPerPartition: timers,
    generate: (index) => index,
    timestampOf: () => 1,
  })
  const env = new StreamExecutionEnvironment({ parallelism: 1, executor: new LocalExecutor() })
  let firstMs = 0
  let firstCpu = process.cpuUsage()
  env
    .fromSource(source, boundedOutOfOrderness<number>(0))
    .keyBy((key) => key)
    .process<number>(() => ({
      processElement: (_key, { timerService }) => timerService.registerEventTimeTimer(1000),
      onTimer() {
        if (firstMs > 0) return
        firstMs = systemClock.monotonicMs()
        firstCpu = process.cpuUsage()
      },
    }))
    .discard()
  const turns = monitorEventLoopDelay({ resolution: 20 })
  turns.enable()
  await env.execute('timers')
  turns.disable()
  const seconds = (systemClock.monotonicMs() - firstMs) / 1000
  const { user, system } = process.cpuUsage(firstCpu)
  const shape = { records: timers, keys: 2 ** 31 - 1, perMs: timers, behindMs: 0 }
  const flink = await runFlink('stream-timers', shape, options)
  const figure: Figure = {
    name: 'stream-timers',
    value: rounded(seconds),
    unit: 's',
    target: MOST_SECONDS,
    higher: false,
    ...(flink === undefined ? {} : { rival: rounded((flink.us * timers) / 1e6), rivalName: FLINK }),
    details: { timers, longestTurnMs: rounded(turns.max / 1e6) },
  }
  return [figure, cpuFigure('stream-timers', (user + system) / timers, flink)]
}

/** The `stream-...` benchmarks: what operators take, beside the limits of their costs. */
export const streamBenchmarks: readonly Benchmark[] = [
  ...MEASURED.map((measured) => ({
    name: measured.name,
    summary: measured.summary,
    run: (options: BenchmarkOptions) => measure(measured, options),
  })),
  {
    name: 'stream-timers',
    summary: '10 M timers of one moment in one slot (needs 6 GB of heap), and the longest turn',
    run: measureTimers,
  },
]
