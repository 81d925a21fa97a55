import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { systemClock } from '../../src/core/clock.ts'
import { AsyncDataStream } from '../../src/dataflow/async/data-stream.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../src/dataflow/watermark-strategy.ts'
import type { AsyncFunction } from '../../src/operators/async/function.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { rounded } from '../load/statistics.ts'

const SERVICE_MS = 1
/** What one slot is asked for at most, whatever the capacity. */
const MOST_PER_SECOND = 200_000
const RECORDS = 1_500_000
/** Share of the records that is read before the clock starts. */
const WARM_UP = 0.2
const CAPACITY = 1000
/** Little's law: so many calls of a millisecond each, up to the rate that is asked for. */
const BOUND = Math.min(MOST_PER_SECOND, (CAPACITY / SERVICE_MS) * 1000)

/** A service that answers after a millisecond. One timer serves all its calls, so that it costs the slot little. */
class Service implements AsyncFunction<number, number> {
  private readonly waiting: { readonly answer: () => void; readonly askedMs: number }[] = []
  private answered = 0
  private totalMs = 0

  asyncInvoke(record: number): Promise<readonly number[]> {
    const { promise, resolve } = Promise.withResolvers<readonly number[]>()
    if (this.waiting.length === 0) setTimeout(() => this.answerDue(), SERVICE_MS)
    this.waiting.push({ answer: () => resolve([record]), askedMs: systemClock.monotonicMs() })
    return promise
  }

  /** The mean time of an answer: timers fire later than asked, above all in a busy slot. */
  get meanMs(): number {
    return this.totalMs / this.answered
  }

  private answerDue(): void {
    const now = systemClock.monotonicMs()
    const due = this.waiting.findIndex(({ askedMs }) => now - askedMs < SERVICE_MS)
    const over = this.waiting.splice(0, due === -1 ? this.waiting.length : due)
    for (const { answer, askedMs } of over) {
      answer()
      this.totalMs += now - askedMs
    }
    this.answered += over.length
    const next = this.waiting[0]
    if (next === undefined) return
    setTimeout(() => this.answerDue(), Math.max(0, next.askedMs + SERVICE_MS - now))
  }
}

async function measure(records: number): Promise<Figure> {
  const service = new Service()
  const from = Math.round(records * WARM_UP)
  let startMs = 0
  const env = new StreamExecutionEnvironment({ parallelism: 1, executor: new LocalExecutor() })
  const source = new GeneratorSource<number>({
    countPerPartition: records,
    generate: (index) => index,
  })
  AsyncDataStream.orderedWait(env.fromSource(source, noWatermarks<number>()), () => service, {
    capacity: CAPACITY,
    timeoutMs: 60_000,
  })
    .filter((index) => {
      if (index === from) startMs = systemClock.monotonicMs()
      return false
    })
    .discard()
  await env.execute('async-io')
  const perSecond = ((records - from) / (systemClock.monotonicMs() - startMs)) * 1000
  return {
    name: 'async-io',
    value: perSecond,
    unit: 'records/s',
    rival: BOUND,
    rivalName: "Little's bound, at most 200,000/s",
    targetRatio: 0.9,
    details: { capacity: CAPACITY, records, serviceMs: rounded(service.meanMs) },
  }
}

/** `async-io`: ordered asynchronous I/O of one slot, with a service of a millisecond. */
export const asyncIoBenchmark: Benchmark = {
  name: 'async-io',
  summary: "ordered asynchronous I/O of one slot, service of 1 ms; beside Little's bound",
  run: async ({ scale }) => [await measure(Math.round(RECORDS * scale))],
}
