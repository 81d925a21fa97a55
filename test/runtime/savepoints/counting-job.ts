import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../../src/dataflow/watermark-strategy.ts'
import type {
  BroadcastProcessFunction,
  KeyedProcessFunction,
  ProcessFunction,
} from '../../../src/operators/process/function.ts'
import { listState, mapState, valueState } from '../../../src/state/port/descriptors.ts'
import type { ListState, MapState, ValueState } from '../../../src/state/port/handles.ts'
import type { JobExecution } from '../../../src/testing/index.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'

export const COUNT = valueState<number>('count')
export const LENGTHS = mapState<number, string>('lengths')
export const RECENT = listState<string>('recent')
export const ALL = listState<string>('all')
export const RULES = mapState<string, number>('rules')

/** Counts words, remembers them by their length, and has a timer at 1,000 times the count. */
export function countWords(): KeyedProcessFunction<string, string, string> {
  let count: ValueState<number>
  let lengths: MapState<number, string>
  return {
    open(context) {
      count = context.getState(COUNT)
      lengths = context.getMapState(LENGTHS)
    },
    processElement(word, context, out) {
      const next = (count.value() ?? 0) + 1
      count.update(next)
      lengths.put(word.length, word)
      context.timerService.registerEventTimeTimer(1_000_000 * next)
      out.collect(`${word} ${next}`)
    },
  }
}

/** Keeps every word in a list and in a union list. */
export function keepWords(): ProcessFunction<string, string> {
  let recent: ListState<string>
  let all: ListState<string>
  return {
    initializeState(context) {
      recent = context.getListState(RECENT)
      all = context.getUnionListState(ALL)
    },
    processElement(word, _context, out) {
      recent.add(word)
      all.add(word)
      out.collect(`kept ${recent.get().length}`)
    },
  }
}

/** Keeps the length of every broadcast word. */
export function keepRules(): BroadcastProcessFunction<string, string, string> {
  return {
    processElement(word, context, out) {
      out.collect(`rule ${context.getBroadcastState(RULES).get(word)}`)
    },
    processBroadcastElement(word, context) {
      context.getBroadcastState(RULES).put(word, word.length)
    },
  }
}

/** All rows in an array. */
export async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = []
  for await (const row of rows) read.push(row)
  return read
}

/** Options of a run of the job. */
export interface CountingRun {
  readonly words: readonly string[]
  readonly checkpoints: string
  readonly from?: string
  readonly parallelism?: number
  /** Uid of the operator that counts. @default 'counts' */
  readonly countsUid?: string
}

/** Starts the job; `values` are what its operators have emitted. */
export function startCounting(
  cluster: MiniCluster,
  { words, checkpoints, from, parallelism = 2, countsUid = 'counts' }: CountingRun,
): { readonly job: JobExecution; readonly values: () => readonly string[] } {
  const sink = new MemorySink<string>()
  const env = new StreamExecutionEnvironment({ parallelism, maxParallelism: 16 })
  const read = env
    .fromSource(
      new MemorySource([words], { bounded: false, timestampOf: () => 5 }),
      monotonousTimestamps(),
    )
    .uid('words')
  read
    .keyBy((word) => word)
    .process(countWords)
    .uid(countsUid)
    .union(read.process(keepWords).uid('lists'))
    .union(read.connect(read.broadcast(RULES)).process(keepRules).uid('rules'))
    .sinkTo(sink)
    .uid('sink')
  const job = cluster.startLocal(env.graph('counting'), {
    configuration: { 'execution.checkpointing.dir': checkpoints },
    restoreFrom: from,
  })
  return { job, values: () => sink.values }
}

/** Runs the job over some words, stops it, and returns the path of the savepoint. */
export async function savepointOf(run: CountingRun): Promise<string> {
  await using cluster = new MiniCluster()
  const { job, values } = startCounting(cluster, run)
  await job.waitFor('RUNNING')
  await until('all values are emitted', () => values().length >= 3 * run.words.length)
  const folder = await job.stopWithSavepoint()
  return `${run.checkpoints}/${folder}`
}
