import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../job-fixture.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i)

/** A bounded and an unbounded stream, counted by key in one operator. */
class TwoSources {
  readonly sink = new MemorySink<readonly [number, number]>('exactly-once')
  readonly bounded = new MemorySource([range(100), range(100)])
  readonly unbounded = new MemorySource([range(100)], { bounded: false })
  counted = 0

  graph(parallelism: number) {
    const env = new StreamExecutionEnvironment({ parallelism, maxParallelism: 16 })
    const ended = env.fromSource(this.bounded, undefined, 'bounded').uid('bounded')
    env
      .fromSource(this.unbounded, undefined, 'unbounded')
      .uid('unbounded')
      .union(ended)
      .keyBy((n) => n % 10)
      .process<readonly [number, number]>(() => {
        let count: ValueState<number>
        return {
          open: (context) => {
            count = context.getState(valueState<number>('count'))
          },
          processElement: (_n, context, out) => {
            const next = (count.value() ?? 0) + 1
            count.update(next)
            out.collect([context.currentKey, next])
            this.counted += 1
          },
        }
      })
      .uid('counts')
      .sinkTo(this.sink)
      .uid('out')
    return env.graph('two sources')
  }

  /** Every (key, count) pair, each expected once: 30 per key. */
  pairs(): string[] {
    return this.sink.values.map((pair) => pair.join()).sort()
  }
}

const expected = range(10)
  .flatMap((key) => range(30).map((n) => `${key},${n + 1}`))
  .sort()

/** Runs until the bounded source has ended and a checkpoint after its end is committed. */
async function checkpointAfterEnd(job: JobExecution, world: TwoSources): Promise<void> {
  await job.waitFor('RUNNING')
  await until('all records are counted', () => world.counted === 300)
  for (let i = 0; i < 50; i++) await turn()
  await job.triggerCheckpoint()
  await until('the results are committed', () => world.sink.preparedCount === 0)
}

describe('a source that has ended while another one continues', () => {
  it.each(['EXACTLY_ONCE', 'AT_LEAST_ONCE'])(
    'still takes part in checkpoints (%s)',
    async (mode) => {
      using folder = checkpointFolder()
      await using cluster = new MiniCluster({
        configuration: {
          'execution.checkpointing.dir': folder.path,
          'execution.checkpointing.mode': mode,
        },
      })
      const world = new TwoSources()
      const job = cluster.startLocal(world.graph(2))
      await checkpointAfterEnd(job, world)
      expect(world.pairs()).toEqual(expected)
      expect(await job.triggerCheckpoint()).toBe(2)
    },
  )

  it('is not read again after a restart, and the job continues', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { ...QUICK_RESTARTS, 'execution.checkpointing.dir': folder.path },
    })
    const world = new TwoSources()
    const job = cluster.startLocal(world.graph(2))
    await checkpointAfterEnd(job, world)
    job.killSlot(1)
    await until('a second attempt', () => job.attempt === 2)
    await job.waitFor('RUNNING')
    await job.triggerCheckpoint()
    expect(world.counted).toBe(300)
    expect(world.pairs()).toEqual(expected)
  })

  it.each([1, 3])('is not read again when a savepoint is restored at %i', async (parallelism) => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path },
    })
    const world = new TwoSources()
    const first = cluster.startLocal(world.graph(2))
    await checkpointAfterEnd(first, world)
    const savepoint = await first.stopWithSavepoint()
    const second = cluster.startLocal(world.graph(parallelism), { restoreFrom: savepoint })
    await second.waitFor('RUNNING')
    await second.triggerCheckpoint()
    expect(world.counted).toBe(300)
    await second.stopWithSavepoint({ drain: true })
    expect(world.pairs()).toEqual(expected)
    expect(second.status).toBe('FINISHED')
  })
})
