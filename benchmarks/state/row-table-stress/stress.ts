import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Clock, sleep } from '../../../src/core/clock.ts'
import type { RowTableShare } from '../../../src/state/rows/share.ts'
import { COUNTERS, READS, READS_PER_COUNT, STOP, VIOLATIONS } from './plan.ts'

/** Options of a stress run. */
export interface StressOptions {
  /** Rows that all readers together read; look-ups that find no row in memory do not count. */
  readonly reads: number
  /** Milliseconds after which the run ends in any case. */
  readonly limitMs: number
  readonly readers: number
  readonly seed: number
  readonly clock: Clock
  /** Called several times a second. */
  readonly progress?: (reads: number, violations: number) => void
}

/** Result of a stress run. */
export interface StressResult {
  readonly reads: number
  /** Rows that mixed two writes or two keys; 0 in a correct build. */
  readonly violations: number
}

/** Runs one writer thread and some reader threads on one row table, and counts mixed rows. */
export async function stressRowTable(options: StressOptions): Promise<StressResult> {
  const { clock, seed } = options
  const counters = new SharedArrayBuffer(COUNTERS * 4)
  const words = new Int32Array(counters)
  const writer = new Worker(new URL('writer.ts', import.meta.url), {
    workerData: { counters, seed, writesPerVersion: 3_000_000 },
  })
  const [first] = (await once(writer, 'message')) as [RowTableShare]
  const readers = Array.from({ length: options.readers }, (_, i) => {
    const workerData = { share: first, counters, seed: seed + 1 + i }
    return new Worker(new URL('reader.ts', import.meta.url), { workerData })
  })
  const failures: unknown[] = []
  for (const worker of [writer, ...readers]) worker.on('error', (error) => failures.push(error))
  writer.on('message', (share: RowTableShare) => {
    for (const reader of readers) reader.postMessage(share)
  })
  const end = clock.monotonicMs() + options.limitMs
  const reads = (): number => Atomics.load(words, READS) * READS_PER_COUNT
  while (reads() < options.reads && clock.monotonicMs() < end && failures.length === 0) {
    await sleep(clock, 200)
    options.progress?.(reads(), Atomics.load(words, VIOLATIONS))
  }
  Atomics.store(words, STOP, 1)
  await Promise.all([writer, ...readers].map((worker) => exited(worker)))
  if (failures.length > 0) throw failures[0]
  return { reads: reads(), violations: Atomics.load(words, VIOLATIONS) }
}

async function exited(worker: Worker): Promise<void> {
  if (worker.threadId !== -1) await once(worker, 'exit')
}
