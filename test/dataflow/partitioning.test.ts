import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { DiscardingSink } from '../../src/operators/basic/discarding-sink.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'

const RECORDS = 3000
/** Several buffers of 32 KiB for each receiver: a sender takes the next receiver when a buffer is full. */
const MANY_RECORDS = 60_000

/** The numbers that each of three subtasks got behind a partitioning, in the order of the subtasks. */
async function received(
  partition: (stream: DataStream<number>) => DataStream<number>,
): Promise<readonly (readonly number[])[]> {
  const sink = new MemorySink<readonly [subtask: number, value: number]>()
  const env = new StreamExecutionEnvironment({ executor: new LocalExecutor(), parallelism: 3 })
  partition(env.fromSequence(0, RECORDS - 1))
    .process<readonly [number, number]>(() => ({
      processElement: (value, context, out) => out.collect([context.subtask, value]),
    }))
    .sinkTo(sink)
  await env.execute('partitioning')
  return [0, 1, 2].map((subtask) =>
    sink.values.filter(([of]) => of === subtask).map(([, value]) => value),
  )
}

const isSorted = (a: number, b: number): number => a - b
const ALL = Array.from({ length: RECORDS }, (_, i) => i)

describe('a partitioning', () => {
  it('global sends all records to the first subtask', async () => {
    const [first, ...others] = await received((stream) => stream.global())
    expect([...first!].sort(isSorted)).toEqual(ALL)
    expect(others).toEqual([[], []])
  })

  it('shuffle sends each record to one subtask, and about as many to each', async () => {
    const shares = await received((stream) => stream.shuffle())
    expect(shares.flat().sort(isSorted)).toEqual(ALL)
    for (const share of shares) expect(Math.abs(share.length - RECORDS / 3)).toBeLessThan(150)
  })

  it('rescale sends the records of a subtask to its share of the receivers only', async () => {
    const sink = new MemorySink<readonly [sender: number, receiver: number]>()
    const env = new StreamExecutionEnvironment({ executor: new LocalExecutor(), parallelism: 4 })
    env
      .fromSequence(0, MANY_RECORDS - 1)
      .rebalance()
      .process<number>(() => ({
        processElement: (_value, context, out) => out.collect(context.subtask),
      }))
      .setParallelism(2)
      .rescale()
      .process<readonly [number, number]>(() => ({
        processElement: (sender, context, out) => out.collect([sender, context.subtask]),
      }))
      .sinkTo(sink)
    await env.execute('rescale')
    expect(sink.values).toHaveLength(MANY_RECORDS)
    const pairs = new Set(sink.values.map((pair) => pair.join(' to ')))
    expect([...pairs].sort()).toEqual(['0 to 0', '0 to 1', '1 to 2', '1 to 3'])
  })

  it('partitionCustom sends each record where the function says for its key', async () => {
    const shares = await received((stream) =>
      stream.partitionCustom(
        (key: number, partitions) => (key * 2) % partitions,
        (value) => value % 10,
      ),
    )
    for (const [subtask, share] of shares.entries()) {
      const expected = ALL.filter((value) => ((value % 10) * 2) % 3 === subtask)
      expect([...share].sort(isSorted)).toEqual(expected)
    }
  })

  it.each([3, -1, 0.5, Number.NaN])(
    'partitionCustom fails the job when the function returns %d of 3 subtasks',
    async (number) => {
      const env = new StreamExecutionEnvironment({
        executor: new LocalExecutor({ 'restart-strategy.type': 'none' }),
        parallelism: 3,
      })
      env
        .fromSequence(1, 9)
        .partitionCustom(() => number, String)
        .sinkTo(new DiscardingSink())
      await expect(env.execute('job')).rejects.toThrow(
        `the function of partitionCustom returned ${number}: return a whole number from 0 to 2`,
      )
    },
  )
})
