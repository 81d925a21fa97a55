import type { MemorySink } from '../../src/connectors/memory/sink.ts'
import { modelVersion } from '../../src/core/model-version.ts'
import { stringSerializer } from '../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../src/dataflow/stream-graph.ts'
import { monotonousTimestamps } from '../../src/dataflow/watermark-strategy.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
  OnTimerContext,
} from '../../src/operators/process/function.ts'
import {
  eventTimeSessionWindows,
  tumblingEventTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import {
  aggregatingState,
  listState,
  mapState,
  reducingState,
  valueState,
  vectorState,
} from '../../src/state/port/descriptors.ts'
import type {
  AppendingState,
  ListState,
  MapState,
  ValueState,
  VectorState,
} from '../../src/state/port/handles.ts'
import {
  ENTRIES_PER_PARTITION,
  type Entry,
  entryAt,
  LedgerGate,
  ledgerSource,
  PARTITIONS,
} from './ledger-source.ts'

const VERSION = modelVersion(1)
const BUCKET_MS = 400
const TUMBLING_MS = 500
const SESSION_GAP_MS = 200

/** The ledger of one key after an entry; `last` are its latest three amounts. */
interface Line {
  readonly key: string
  readonly count: number
  readonly last: readonly number[]
  readonly largest: number
  readonly mean: number
  readonly vector: readonly number[]
}

function entryLine({ key, count, last, largest, mean, vector }: Line): string {
  return `entry ${key} ${count} last=${last.join()} max=${largest} mean=${mean} vector=${vector.join()}`
}

const bucketEnd = (at: number): number => (Math.floor(at / BUCKET_MS) + 1) * BUCKET_MS

/** A function with every kind of keyed state, and an event-time timer for every bucket of time. */
class Ledger implements KeyedProcessFunction<string, Entry, string> {
  private count!: ValueState<number>
  private last!: ListState<number>
  private buckets!: MapState<number, number>
  private largest!: AppendingState<number, number>
  private mean!: AppendingState<number, number>
  private vectors!: VectorState
  private readonly onEntry: () => void

  constructor(onEntry: () => void) {
    this.onEntry = onEntry
  }

  open(context: KeyedFunctionContext): void {
    this.count = context.getState(valueState<number>('count'))
    this.last = context.getListState(listState<number>('last'))
    this.buckets = context.getMapState(mapState<number, number>('buckets'))
    this.largest = context.getReducingState(reducingState<number>('largest', Math.max))
    this.mean = context.getAggregatingState(
      aggregatingState('mean', {
        createAccumulator: () => [0, 0],
        add: (amount: number, [sum, n]: number[]) => [sum! + amount, n! + 1],
        getResult: ([sum, n]: number[]) => sum! / n!,
        merge: (a: number[], b: number[]) => [a[0]! + b[0]!, a[1]! + b[1]!],
      }),
    )
    this.vectors = context.getVectorState(vectorState('vectors', { dimension: 2 }))
  }

  processElement(entry: Entry, context: KeyedProcessContext<string>, out: Collector<string>): void {
    const { amount, at } = entry
    const count = (this.count.value() ?? 0) + 1
    this.count.update(count)
    this.last.update([...this.last.get(), amount].slice(-3))
    this.largest.add(amount)
    this.mean.add(amount)
    const end = bucketEnd(at)
    this.buckets.put(end, (this.buckets.get(end) ?? 0) + amount)
    context.timerService.registerEventTimeTimer(end)
    this.vectors.add(VERSION, context.currentKeyBytes, Float32Array.of(1, amount), {
      partition: context.position.partition,
      offset: context.position.offset,
      eventTime: at,
    })
    const vector = [...this.vectors.get(VERSION, context.currentKeyBytes)!.vector]
    out.collect(
      entryLine({
        key: context.currentKey,
        count,
        last: this.last.get(),
        largest: this.largest.get()!,
        mean: this.mean.get()!,
        vector,
      }),
    )
    this.onEntry()
  }

  onTimer(end: number, context: OnTimerContext<string>, out: Collector<string>): void {
    out.collect(`bucket ${context.currentKey} ${end} ${this.buckets.get(end)}`)
    this.buckets.remove(end)
  }
}

/** Options of the ledger job. */
export interface LedgerOptions {
  readonly parallelism: number
  readonly sink: MemorySink<string>
  /** Limit of the source. @default the end */
  readonly gate?: LedgerGate
  /** Called after every entry. */
  readonly onEntry?: () => void
}

/** The ledger job: entries go to a ledger with timers, to tumbling and to session windows, and all to one sink. */
export function ledgerGraph(options: LedgerOptions): StreamGraph {
  const { parallelism, sink, gate = openGate(), onEntry = () => {} } = options
  const env = new StreamExecutionEnvironment({ parallelism, maxParallelism: 32 })
  const watermarks = monotonousTimestamps<Entry>({ timestampOf: ({ at }) => at })
  const entries = env
    .fromSource(ledgerSource(gate), watermarks, 'entries')
    .uid('entries')
    .keyBy(({ key }) => key, stringSerializer)
  const ledger = entries.process(() => new Ledger(onEntry)).uid('ledger')
  const sums = entries
    .window(tumblingEventTimeWindows(TUMBLING_MS))
    .aggregate(
      {
        createAccumulator: () => 0,
        add: ({ amount }: Entry, sum: number) => sum + amount,
        getResult: (sum: number) => sum,
        merge: (a: number, b: number) => a + b,
      },
      {},
      () => ({
        process(key, context, [sum], out: Collector<string>) {
          out.collect(`window ${key} ${context.window.start} ${sum}`)
        },
      }),
    )
    .uid('tumbling')
  const sessions = entries
    .window(eventTimeSessionWindows(SESSION_GAP_MS))
    .process<string>(() => ({
      process(key, context, inside, out) {
        const { start, end } = context.window
        out.collect(`session ${key} ${start}-${end} ${[...inside].length}`)
      },
    }))
    .uid('sessions')
  ledger.union(sums, sessions).sinkTo(sink).uid('lines')
  return env.graph('ledger')
}

function openGate(): LedgerGate {
  const gate = new LedgerGate()
  gate.raise(ENTRIES_PER_PARTITION)
  return gate
}

/** The expected output, sorted: a fold of each key's entries in order, without the runtime. */
export function foldedLedger(): string[] {
  const byKey = new Map<string, Entry[]>()
  for (let partition = 0; partition < PARTITIONS; partition++) {
    for (let index = 0; index < ENTRIES_PER_PARTITION; index++) {
      const entry = entryAt(index, partition)
      byKey.set(entry.key, [...(byKey.get(entry.key) ?? []), entry])
    }
  }
  return [...byKey].flatMap(([key, entries]) => foldKey(key, entries)).sort()
}

function foldKey(key: string, entries: readonly Entry[]): string[] {
  const amounts = entries.map(({ amount }) => amount)
  const lines = amounts.map((_, i) => {
    const seen = amounts.slice(0, i + 1)
    const sum = seen.reduce((a, b) => a + b)
    return entryLine({
      key,
      count: seen.length,
      last: seen.slice(-3),
      largest: Math.max(...seen),
      mean: sum / seen.length,
      vector: [seen.length, sum],
    })
  })
  for (const [end, sum] of sumsBy(entries, ({ at }) => bucketEnd(at))) {
    lines.push(`bucket ${key} ${end} ${sum}`)
  }
  const start = ({ at }: Entry): number => Math.floor(at / TUMBLING_MS) * TUMBLING_MS
  for (const [from, sum] of sumsBy(entries, start)) lines.push(`window ${key} ${from} ${sum}`)
  for (const session of sessionsOf(entries)) {
    const end = session.at(-1)!.at + SESSION_GAP_MS
    lines.push(`session ${key} ${session[0]!.at}-${end} ${session.length}`)
  }
  return lines
}

function sumsBy(entries: readonly Entry[], of: (entry: Entry) => number): Map<number, number> {
  const sums = new Map<number, number>()
  for (const entry of entries) sums.set(of(entry), (sums.get(of(entry)) ?? 0) + entry.amount)
  return sums
}

function sessionsOf(entries: readonly Entry[]): Entry[][] {
  const sessions: Entry[][] = []
  for (const entry of entries) {
    const last = sessions.at(-1)
    if (last !== undefined && entry.at - last.at(-1)!.at < SESSION_GAP_MS) last.push(entry)
    else sessions.push([entry])
  }
  return sessions
}
