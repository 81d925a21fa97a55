import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { int53Serializer, type Serializer, stringSerializer } from '../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../src/dataflow/stream-graph.ts'
import { valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'

/** Options of the counting job. */
export interface CountOptions {
  readonly parallelism?: number
  readonly maxParallelism?: number
  readonly partitions?: number
  readonly countPerPartition?: number
  readonly keys?: number
  readonly ratePerSecond?: number
  readonly sink?: MemorySink<readonly [string, number]>
  /** Called with every record at the counter; may throw. */
  readonly onRecord?: (n: number) => void
}

/** Records per key that the counting job must end with. */
export function expectedCounts(options: CountOptions): Map<string, number> {
  const { partitions = 2, countPerPartition = 1000, keys = 10 } = options
  const counts = new Map<string, number>()
  for (let i = 0; i < partitions * countPerPartition; i++) {
    const key = `key-${i % keys}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

/** Largest count seen per key. */
export function finalCounts(sink: MemorySink<readonly [string, number]>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [key, count] of sink.values) counts.set(key, Math.max(count, counts.get(key) ?? 0))
  return counts
}

/** Numbers, counted by key over one shuffle, into a memory sink. */
export function countGraph(options: CountOptions = {}): {
  readonly graph: StreamGraph
  readonly sink: MemorySink<readonly [string, number]>
} {
  const { parallelism = 2, partitions = 2, countPerPartition = 1000, keys = 10 } = options
  const sink = options.sink ?? new MemorySink<readonly [string, number]>()
  const env = new StreamExecutionEnvironment({
    parallelism,
    maxParallelism: options.maxParallelism ?? 128,
  })
  const source = new GeneratorSource<number>({
    generate: (index, partition) => (index * partitions + partition) % keys,
    partitions,
    countPerPartition,
    ...(options.ratePerSecond === undefined ? {} : { ratePerSecond: options.ratePerSecond }),
  })
  env
    .fromSource(source, undefined, 'numbers', {
      serializer: int53Serializer as Serializer<number>,
    })
    .uid('numbers')
    .keyBy((n) => `key-${n}`, stringSerializer)
    .process<readonly [string, number]>(() => {
      let count: ValueState<number>
      return {
        open(context) {
          count = context.getState(valueState('count', { serializer: int53Serializer }))
        },
        processElement(n, context, out) {
          options.onRecord?.(n)
          const next = (count.value() ?? 0) + 1
          count.update(next)
          out.collect([context.currentKey, next])
        },
      }
    })
    .uid('counter')
    .sinkTo(sink)
    .uid('results')
  return { graph: env.graph('count'), sink }
}

/** A folder for checkpoints that is removed with `Symbol.dispose`. */
export function checkpointFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'weir-runtime-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** Restarts at once, as often as a test needs. */
export const QUICK_RESTARTS = {
  'restart-strategy.type': 'fixed-delay',
  'restart-strategy.fixed-delay.attempts': '20',
  'restart-strategy.fixed-delay.delay': '1 ms',
  'execution.checkpointing.tolerable-failed-checkpoints': '100',
} as const
