import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { runTool } from '../../test/services/maven-classpath.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { median, rounded } from '../load/statistics.ts'
import { FLINK_ROCKSDB_POM, FlinkRival } from './flink.ts'
import { NEXMARK_QUERIES, type NexmarkQuery } from './nexmark-queries.ts'
import type { NexmarkRate, NexmarkRun } from './nexmark-run.ts'

const PROCESS = join(import.meta.dirname, 'nexmark-process.ts')
const MB = 2 ** 20
const ALL = Object.keys(NEXMARK_QUERIES) as NexmarkQuery[]
/** Queries whose state grows with the time that auctions last, or without end. */
const WITH_MUCH_STATE = ['q4', 'q9', 'q18', 'q20'] as const satisfies readonly NexmarkQuery[]

/** A comparison of both sides, query by query. */
interface Comparison {
  readonly name: string
  readonly summary: string
  readonly rivalName: string
  readonly queries: readonly NexmarkQuery[]
  /** The wanted events/s over Flink's, of each query. */
  readonly targetRatio: number
  /** The run of a query at a scale. */
  readonly run: (query: NexmarkQuery, scale: number) => NexmarkRun
  /** Figures over all queries. */
  readonly summaryOf: (pairs: readonly Pair[]) => readonly Figure[]
}

/** Both sides of a query. */
interface Pair {
  readonly weir: NexmarkRate
  readonly flink: NexmarkRate
}

/** Weir over Flink, of each query. */
function ratiosOf(pairs: readonly Pair[], what: (rate: NexmarkRate) => number): number[] {
  return pairs.map(({ weir, flink }) => what(weir) / what(flink))
}

const eventsPerSecond = (rate: NexmarkRate): number => rate.eventsPerSecond
const cpu = (rate: NexmarkRate): number => rate.cpuSecondsPerMillion
const memory = (rate: NexmarkRate): number => rate.residentBytes / MB

async function weirRate(run: NexmarkRun, folder: string): Promise<NexmarkRate> {
  const output = await runTool(process.execPath, 'nodejs', [PROCESS, JSON.stringify(run), folder])
  return JSON.parse(output) as NexmarkRate
}

function stateDetails(
  { budget, warmUpEvents }: NexmarkRun,
  weir: NexmarkRate,
  flink: NexmarkRate | undefined,
): Partial<Figure> {
  if (budget === undefined || weir.stateBytes === undefined) return {}
  const stateMb = rounded(weir.stateBytes / MB)
  if (warmUpEvents === 0) return { details: { budget, stateMb } }
  const rivalEventsBefore = flink === undefined ? {} : { rivalEventsBefore: flink.eventsBefore }
  return { details: { budget, stateMb, eventsBefore: weir.eventsBefore, ...rivalEventsBefore } }
}

function figuresOf(
  { name, rivalName, targetRatio }: Comparison,
  run: NexmarkRun,
  weir: NexmarkRate,
  flink: NexmarkRate | undefined,
): Figure[] {
  const figure = (suffix: string, unit: string, what: (rate: NexmarkRate) => number) => ({
    name: `${name}-${run.query}${suffix}`,
    value: what(weir),
    unit,
    ...(flink === undefined ? {} : { rival: what(flink), rivalName }),
  })
  return [
    {
      ...figure('', 'events/s', eventsPerSecond),
      targetRatio,
      ...stateDetails(run, weir, flink),
    },
    { ...figure('-cpu', 's per million events', cpu), higher: false },
    { ...figure('-memory', 'MiB', memory), higher: false },
  ]
}

async function compileFlink({ scratch, say }: BenchmarkOptions): Promise<FlinkRival | undefined> {
  try {
    return await FlinkRival.compile(join(scratch, 'classes'), FLINK_ROCKSDB_POM)
  } catch (error) {
    say(`without Flink: ${(error as Error).message}`)
    return undefined
  }
}

/** Runs both sides of each query in turn. */
async function compare(comparison: Comparison, options: BenchmarkOptions): Promise<Figure[]> {
  const { scale, say, scratch } = options
  const flink = await compileFlink(options)
  const figures: Figure[] = []
  const pairs: Pair[] = []
  for (const query of comparison.queries) {
    const run = comparison.run(query, scale)
    const folder = (side: string): string => mkdtempSync(join(scratch, `${query}-${side}-`))
    const weir = await weirRate(run, folder('weir'))
    const rival = await flink?.run(run, folder('flink'))
    say(
      `${query}: ${Math.round(weir.eventsPerSecond)} events/s, Flink ${Math.round(rival?.eventsPerSecond ?? 0)}`,
    )
    figures.push(...figuresOf(comparison, run, weir, rival))
    if (rival !== undefined) pairs.push({ weir, flink: rival })
  }
  // One query has neither a median nor a worst one.
  return pairs.length < 2 ? figures : [...figures, ...comparison.summaryOf(pairs)]
}

/** The benchmark of a comparison; each query is a part of it. */
function benchmarkOf(comparison: Comparison): Benchmark {
  const { name, summary, queries } = comparison
  return {
    name,
    summary,
    run: (options) => compare(comparison, options),
    parts: queries.map((query) => ({
      name: `${name}-${query}`,
      summary: `${query} of ${name}`,
      run: (options) => compare({ ...comparison, queries: [query] }, options),
    })),
  }
}

const timed = (query: NexmarkQuery, scale: number, budget?: string): NexmarkRun => ({
  query,
  warmUpSeconds: 6 * scale,
  warmUpEvents: 0,
  warmUpLimitSeconds: 0,
  measuredSeconds: 8 * scale,
  spread: 1,
  budget,
})

const worstOf = (name: string, pairs: readonly Pair[], unit: string, target: number): Figure => ({
  name: `${name}-worst`,
  value: Math.min(...ratiosOf(pairs, eventsPerSecond)),
  unit,
  target,
})

/** `nexmark`: queries on 2 slots with a checkpoint each second, Flink's heap backend beside them in turn. */
export const nexmarkBenchmark: Benchmark = benchmarkOf({
  name: 'nexmark',
  summary: 'queries of Nexmark on 2 slots, a checkpoint each second; beside Flink 1.20, heap',
  rivalName: 'Flink 1.20, heap',
  queries: ALL,
  targetRatio: 0.6,
  run: timed,
  summaryOf(pairs) {
    const unit = 'times Flink, heap'
    const rates = median(ratiosOf(pairs, eventsPerSecond))
    const cpus = median(ratiosOf(pairs, cpu))
    const most = Math.max(...ratiosOf(pairs, memory))
    return [
      { name: 'nexmark-median', value: rates, unit, target: 1 },
      worstOf('nexmark', pairs, unit, 0.6),
      { name: 'nexmark-median-cpu', value: cpus, unit, target: 1, higher: false },
      { name: 'nexmark-worst-memory', value: most, unit, target: 0.6, higher: false },
    ]
  },
})

/** `nexmark-rocksdb`: the same with state in RocksDB and 512 MB of memory for it, on both sides. */
export const nexmarkRocksdbBenchmark: Benchmark = benchmarkOf({
  name: 'nexmark-rocksdb',
  summary: 'as nexmark, with RocksDB and 512 MB for state; beside Flink 1.20, RocksDB incremental',
  rivalName: 'Flink 1.20, RocksDB',
  queries: ALL,
  targetRatio: 1.2,
  run: (query, scale) => timed(query, scale, '512mb'),
  summaryOf: (pairs) => [worstOf('nexmark-rocksdb', pairs, 'times Flink, RocksDB', 1.2)],
})

/** Events and budget of `nexmark-spilled` at scale 1: the state is then ten times the budget. */
const SPILLED_EVENTS = 4_000_000
/** At scale 1, and at least a quarter of it. */
const SPILLED_WARM_UP_LIMIT_SECONDS = 120
const SPILLED_BUDGET_MB = 32
/** Auctions last up to 400 s at scale 1, and a hundredth of them at a hundredth of it. */
const SPILLED_SPREAD = 200

/** `nexmark-spilled`: queries whose state is ten times the memory that both sides have for it. */
export const nexmarkSpilledBenchmark: Benchmark = benchmarkOf({
  name: 'nexmark-spilled',
  summary: 'queries of Nexmark with state of ten times the memory; beside Flink 1.20, RocksDB',
  rivalName: 'Flink 1.20, RocksDB',
  queries: WITH_MUCH_STATE,
  targetRatio: 1,
  run: (query, scale) => ({
    query,
    warmUpSeconds: 0,
    warmUpEvents: Math.round(SPILLED_EVENTS * scale),
    warmUpLimitSeconds: SPILLED_WARM_UP_LIMIT_SECONDS * Math.max(0.25, scale),
    measuredSeconds: 20 * scale,
    spread: Math.max(1, Math.round(SPILLED_SPREAD * scale)),
    budget: `${Math.round(SPILLED_BUDGET_MB * scale * 1024)}kb`,
  }),
  summaryOf: (pairs) => [worstOf('nexmark-spilled', pairs, 'times Flink, RocksDB', 1)],
})
