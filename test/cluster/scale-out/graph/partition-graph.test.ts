import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { partitionGraph } from '../../../../src/cluster/scale-out/graph/partition-graph.ts'
import { partitionJobId } from '../../../../src/cluster/scale-out/partition-execution.ts'
import { MemorySink } from '../../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../../src/connectors/memory/source.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { StreamExecutionEnvironment } from '../../../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../../../src/dataflow/watermark-strategy.ts'
import { tumblingEventTimeWindows } from '../../../../src/operators/windows/assigner.ts'
import type { JobExecution } from '../../../../src/runtime/job/execution.ts'
import { valueState } from '../../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../../src/state/port/handles.ts'
import { MiniCluster } from '../../../../src/testing/mini-cluster.ts'
import { until } from '../../../run/until.ts'
import { MemoryExchanges } from './memory-exchanges.ts'

interface Event {
  readonly key: string
  readonly time: number
  readonly amount: number
}

const PARTITIONS = 3
const SPLITS = 2
const PER_SPLIT = 400
/** Event time after all events: their windows are complete. */
const LATER = 1_000_000

const random = seededRandom(41)
const EVENTS: readonly (readonly Event[])[] = Array.from({ length: SPLITS }, () => [
  ...Array.from({ length: PER_SPLIT }, (_, i) => ({
    key: `k${random.below(25)}`,
    time: i * 10 + random.below(50),
    amount: random.below(100),
  })),
  { key: 'later', time: LATER, amount: 0 },
])
const ALL = EVENTS.flat()

type Build = (env: StreamExecutionEnvironment, sink: MemorySink<string>) => void

const events = (env: StreamExecutionEnvironment) =>
  env
    .fromSource(
      new MemorySource(EVENTS, { bounded: false }),
      boundedOutOfOrderness<Event>(50, { timestampOf: ({ time }) => time }),
    )
    .uid('events')

/** All job partitions of a job, in this process, each of which can be ended and started again. */
class Partitions implements AsyncDisposable {
  readonly sink = new MemorySink<string>('exactly-once')
  private readonly cluster = new MiniCluster()
  private readonly exchanges = new MemoryExchanges(PARTITIONS)
  private readonly folder = mkdtempSync(join(tmpdir(), 'weir-partitions-'))
  private readonly running = new Map<number, JobExecution>()
  private readonly build: Build

  constructor(build: Build) {
    this.build = build
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }))
    for (let partition = 0; partition < PARTITIONS; partition++) this.start(partition)
  }

  graphOf(partition: number) {
    const env = new StreamExecutionEnvironment({
      parallelism: PARTITIONS,
      jobName: `job-${partition}`,
    })
    this.build(env, this.sink)
    return partitionGraph(env.graph(), { partition, partitions: PARTITIONS }, this.exchanges)
  }

  start(partition: number): void {
    const job = this.cluster.startLocal(this.graphOf(partition), {
      jobId: partitionJobId('job', partition),
      configuration: {
        'execution.checkpointing.dir': this.folder,
        'execution.checkpointing.interval': '10 ms',
        'state.backend.type': 'heap',
      },
    })
    this.running.set(partition, job)
  }

  /** Ends a job partition without a checkpoint, and starts it again. */
  async restart(partition: number): Promise<void> {
    await this.running.get(partition)!.suspend()
    this.start(partition)
  }

  /** Resolves when there are so many results, with the results in their order as text. */
  async results(count: number): Promise<string[]> {
    await until(
      () => `${count} results, ${this.sink.values.length} so far`,
      () => {
        for (const { failures } of this.running.values()) {
          if (failures.length > 0) throw failures[0]!.error
        }
        return this.sink.values.length >= count
      },
    )
    return this.sink.values.toSorted()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster.close()
  }
}

const counted: Build = (env, sink) => {
  events(env)
    .keyBy(({ key }) => key)
    .process<string>(() => {
      let count: ValueState<number>
      return {
        open(context) {
          count = context.getState(valueState<number>('count'))
        },
        processElement({ key }, _context, out) {
          count.update((count.value() ?? 0) + 1)
          out.collect(`${key} ${count.value()}`)
        },
      }
    })
    .uid('count')
    .sinkTo(sink)
    .uid('results')
}

/** The running count of each key, computed plainly. */
function expectedCounts(): string[] {
  const counts = new Map<string, number>()
  return ALL.map(({ key }) => {
    counts.set(key, (counts.get(key) ?? 0) + 1)
    return `${key} ${counts.get(key)}`
  }).toSorted()
}

describe('the partitions of a job', () => {
  it('count each record of a key in one of them', async () => {
    await using job = new Partitions(counted)
    expect(await job.results(ALL.length)).toEqual(expectedCounts())
  })

  it('lose and repeat nothing while they are ended and started again', async () => {
    await using job = new Partitions(counted)
    for (let round = 0; round < 9; round++) {
      await job.results(Math.min(ALL.length, round * 40))
      await job.restart(round % PARTITIONS)
    }
    expect(await job.results(ALL.length)).toEqual(expectedCounts())
  })

  it('fire windows when the watermarks of all senders have passed them', async () => {
    await using job = new Partitions((env, sink) => {
      events(env)
        .keyBy(({ key }) => key)
        .window(tumblingEventTimeWindows(500))
        .reduce((a, b) => ({ ...b, time: Math.min(a.time, b.time), amount: a.amount + b.amount }))
        .map(({ key, time, amount }) => `${key} ${Math.floor(time / 500)} ${amount}`)
        .sinkTo(sink)
    })
    const sums = new Map<string, number>()
    for (const { key, time, amount } of ALL.filter((event) => event.time < LATER)) {
      const window = `${key} ${Math.floor(time / 500)}`
      sums.set(window, (sums.get(window) ?? 0) + amount)
    }
    const expected = [...sums].map(([window, sum]) => `${window} ${sum}`).toSorted()
    expect(await job.results(expected.length)).toEqual(expected)
  })

  it('send a record on by another key, and to an operator that is in one of them', async () => {
    await using job = new Partitions((env, sink) => {
      events(env)
        .keyBy(({ key }) => key)
        .map(({ amount }) => amount % 7)
        .keyBy((rest) => rest)
        .process<string>(() => {
          let count: ValueState<number>
          return {
            open(context) {
              count = context.getState(valueState<number>('count'))
            },
            processElement(rest, _context, out) {
              count.update((count.value() ?? 0) + 1)
              out.collect(`${rest} ${count.value()}`)
            },
          }
        })
        .uid('rests')
        .process<string>(() => {
          let seen = 0
          return {
            processElement(text, _context, out) {
              seen += 1
              out.collect(`${text} of ${seen}`)
            },
          }
        })
        .uid('all')
        .setParallelism(1)
        .sinkTo(sink)
        .setParallelism(1)
    })
    const results = await job.results(ALL.length)
    const numbers = results.map((text) => Number(text.split(' of ')[1]))
    expect(numbers.toSorted((a, b) => a - b)).toEqual(ALL.map((_, i) => i + 1))
    const counts = new Map<number, number>()
    for (const { amount } of ALL) counts.set(amount % 7, (counts.get(amount % 7) ?? 0) + 1)
    const highest = new Map<number, number>()
    for (const text of results) {
      const [rest, count] = text.split(' ').map(Number)
      highest.set(rest!, Math.max(highest.get(rest!) ?? 0, count!))
    }
    expect(highest).toEqual(counts)
  })

  it('send records to all, and to the partition that a function names', async () => {
    await using job = new Partitions((env, sink) => {
      const all = events(env)
      all
        .broadcast()
        .map(({ key }) => `all ${key}`)
        .sinkTo(sink)
        .uid('all')
      all
        .partitionCustom(
          (amount: number, partitions) => amount % partitions,
          ({ amount }) => amount,
        )
        .map(({ amount }) => `one ${amount}`)
        .sinkTo(sink)
        .uid('one')
    })
    const expected = [
      ...ALL.flatMap(({ key }) => new Array<string>(PARTITIONS).fill(`all ${key}`)),
      ...ALL.map(({ amount }) => `one ${amount}`),
    ].toSorted()
    expect(await job.results(expected.length)).toEqual(expected)
  })
})
