import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { SequenceSource } from '../../../src/operators/basic/sequence-source.ts'
import type { SourceReader, SourceSplit } from '../../../src/operators/port/source.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

async function numbersOf(
  from: number,
  to: number,
  parallelism: number,
): Promise<readonly number[]> {
  const sink = new MemorySink<number>()
  const env = new StreamExecutionEnvironment({ executor: new LocalExecutor(), parallelism })
  env.fromSequence(from, to).sinkTo(sink)
  await env.execute('sequence')
  return sink.values
}

describe('fromSequence', () => {
  it.each([
    [1, 1],
    [-2, 3],
    [0, 63],
    [0, 64],
    [5, 1234],
  ])('has the numbers from %i to %i in order', async (from, to) => {
    expect(await numbersOf(from, to, 1)).toEqual(range(from, to))
  })

  it.each([2, 3, 100])('shares each number once among %i subtasks', async (parallelism) => {
    const numbers = [...(await numbersOf(1, 150, parallelism))]
    expect(numbers.sort((a, b) => a - b)).toEqual(range(1, 150))
  })

  it.each([
    [2, 1],
    [0.5, 3],
    [0, Number.POSITIVE_INFINITY],
  ])('refuses a sequence from %d to %d', (from, to) => {
    const env = new StreamExecutionEnvironment()
    expect(() => env.fromSequence(from, to)).toThrow(`not from ${from} to ${to}`)
  })
})

describe('SequenceSource', () => {
  async function readerOf(splits: readonly SourceSplit[]): Promise<SourceReader<number>> {
    const reader = new SequenceSource(1, 200).createReader()
    const context = { subtask: 0, parallelism: 1, clock: systemClock, metrics: new MetricGroup() }
    await reader.open(context)
    await reader.addSplits(splits)
    return reader
  }

  it('goes on behind the positions of a checkpoint', async () => {
    const partitions = await new SequenceSource(1, 200).discover()
    const first = await readerOf(partitions.map((partition) => ({ partition, nextOffset: -1 })))
    const seen: number[] = []
    const output = { collect: (n: number) => void seen.push(n), progress: () => {} }
    first.poll(output, 77)
    const second = await readerOf(first.snapshot())
    while (second.poll(output, 10) !== 'ended');
    expect(seen.sort((a, b) => a - b)).toEqual(range(1, 200))
  })
})
