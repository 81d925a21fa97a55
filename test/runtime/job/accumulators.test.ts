import { describe, expect, it } from 'vitest'
import { accumulatorsSnapshot } from '../../../src/cluster/rest/job/accumulators-snapshot.ts'
import {
  type FunctionContext,
  GeneratorSource,
  IntCounter,
  LongCounter,
  MemorySink,
  type RichMapFunction,
  StreamExecutionEnvironment,
} from '../../../src/index.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../job-fixture.ts'

/** Counts its records in an accumulator. */
class CountingMap implements RichMapFunction<number, number> {
  private readonly counter: LongCounter | IntCounter
  private readonly onRecord: (n: number, context: FunctionContext) => void
  private context!: FunctionContext

  constructor(
    counter: LongCounter | IntCounter = new LongCounter(),
    onRecord: (n: number, context: FunctionContext) => void = () => {},
  ) {
    this.counter = counter
    this.onRecord = onRecord
  }

  open(context: FunctionContext): void {
    this.context = context
    context.addAccumulator('records', this.counter)
  }

  map(n: number): number {
    this.onRecord(n, this.context)
    this.counter.add(1)
    return n
  }

  close(): void {
    this.context.getAccumulator<LongCounter>('records')!.add(1000)
  }
}

/** Numbers 0 to `2 * count - 1` in two subtasks. */
function numbers(count: number, ratePerSecond?: number) {
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  const source = new GeneratorSource<number>({
    generate: (index, partition) => index * 2 + partition,
    partitions: 2,
    countPerPartition: count,
    ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
  })
  return { env, stream: env.fromSource(source).uid('numbers') }
}

describe('accumulators of a job', () => {
  it('are merged over subtasks in its result, with what close added', async () => {
    const { env, stream } = numbers(50)
    stream.richMap(() => new CountingMap()).sinkTo(new MemorySink())
    await using cluster = new MiniCluster()
    const result = await cluster.run(env.graph('accumulators'))
    expect(result.getAccumulatorResult('records')).toBe(2100)
    expect(result.getAllAccumulatorResults()).toEqual({ records: 2100 })
    expect(result.getAccumulatorResult('unknown')).toBeUndefined()
  })

  it('are merged over tasks that use the same name', async () => {
    const { env, stream } = numbers(50)
    const counted = stream.richMap(() => new CountingMap()).rebalance()
    counted.richMap(() => new CountingMap()).sinkTo(new MemorySink())
    await using cluster = new MiniCluster()
    const result = await cluster.run(env.graph('accumulators'))
    expect(result.getAccumulatorResult('records')).toBe(4200)
  })

  it('fail the job when two tasks give one name two types', async () => {
    const { env, stream } = numbers(50)
    const counted = stream.richMap(() => new CountingMap()).rebalance()
    counted.richMap(() => new CountingMap(new IntCounter())).sinkTo(new MemorySink())
    await using cluster = new MiniCluster()
    const configuration = { 'restart-strategy.type': 'none' }
    await expect(cluster.run(env.graph('accumulators'), { configuration })).rejects.toMatchObject({
      code: 'JOB_FAILED',
      details: { code: 'STATE_CONFLICT' },
    })
  })

  it('begin empty after a restart: what the failed attempt added is dropped', async () => {
    const { env, stream } = numbers(50)
    const fail = (n: number, { attempt }: FunctionContext): void => {
      if (attempt === 1 && n >= 60) throw new Error('on purpose')
    }
    stream.richMap(() => new CountingMap(new LongCounter(), fail)).sinkTo(new MemorySink())
    await using cluster = new MiniCluster({ configuration: QUICK_RESTARTS })
    const job = cluster.startLocal(env.graph('accumulators'))
    // Without checkpoints, the second attempt reads all records from the start.
    expect((await job.result).getAccumulatorResult('records')).toBe(2100)
    expect(job.attempt).toBe(2)
  })

  it('can be read while it runs, by subtask', async () => {
    const { env, stream } = numbers(1_000_000, 1000)
    stream.richMap(() => new CountingMap()).sinkTo(new MemorySink())
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path },
    })
    const job = cluster.startLocal(env.graph('accumulators'))
    await job.waitFor('RUNNING')
    // The barrier is behind at least the first records.
    while (((await job.accumulators())['records'] as number) < 4) await job.triggerCheckpoint()
    const { vertices } = accumulatorsSnapshot(job.accumulatorParts)
    expect(vertices).toMatchObject([{ uid: 'numbers', subtasks: [{ subtask: 0 }, { subtask: 1 }] }])
    await job.cancel()
    const parts = job.accumulatorParts.map(({ state }) => state as number)
    expect(Math.min(...parts)).toBeGreaterThanOrEqual(1000)
  })
})
