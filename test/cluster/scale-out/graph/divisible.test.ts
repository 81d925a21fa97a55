import { describe, expect, it } from 'vitest'
import {
  missingParts,
  requireDivisible,
} from '../../../../src/cluster/scale-out/graph/divisible.ts'
import { LogSource } from '../../../../src/connectors/log/source.ts'
import { MemorySink } from '../../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../../src/connectors/memory/source.ts'
import { topicRecordDeserializer } from '../../../../src/connectors/records/topic-record.ts'
import { StreamExecutionEnvironment } from '../../../../src/dataflow/stream-execution-environment.ts'

const PARTITIONS = 3

/** A job of these partitions, with an endless source. */
function newJob() {
  const env = new StreamExecutionEnvironment({ parallelism: PARTITIONS })
  const numbers = env.fromSource(new MemorySource([[1]], { bounded: false }), undefined, 'Numbers')
  return { env, numbers: numbers.uid('numbers') }
}

const divide = (env: StreamExecutionEnvironment): void => requireDivisible(env.graph(), PARTITIONS)

describe('a job in many processes', () => {
  it('is taken with keys, and with an operator of parallelism 1', () => {
    const { env, numbers } = newJob()
    numbers
      .keyBy((n) => n)
      .reduce((a, b) => a + b)
      .sinkTo(new MemorySink())
      .setParallelism(1)
    expect(() => divide(env)).not.toThrow()
  })

  it('is refused for a source that ends', () => {
    const env = new StreamExecutionEnvironment({ parallelism: PARTITIONS })
    env
      .fromSource(new MemorySource([[1]]), undefined, 'Numbers')
      .uid('n')
      .sinkTo(new MemorySink())
    expect(() => divide(env)).toThrow('operator "Numbers" (n) ends')
  })

  it('is refused for a source of the embedded log', () => {
    const env = new StreamExecutionEnvironment({ parallelism: PARTITIONS })
    const source = new LogSource({
      ...{ directory: '/log', topic: 'orders', deserialize: topicRecordDeserializer },
    })
    env.fromSource(source, undefined, 'Orders').uid('orders').sinkTo(new MemorySink())
    expect(() => divide(env)).toThrow('reads topic "orders" of the embedded log')
  })

  it('is refused for an operator with a parallelism of its own that is not 1', () => {
    const { env, numbers } = newJob()
    const copied = numbers.map((n) => n).name('Copy')
    copied.uid('copy').setParallelism(2).sinkTo(new MemorySink())
    expect(() => divide(env)).toThrow('operator "Copy" (copy) has parallelism 2')
  })

  it('is refused where each operator has parallelism 1', () => {
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    env.fromSource(new MemorySource([[1]], { bounded: false })).sinkTo(new MemorySink())
    expect(() => divide(env)).toThrow('nothing to divide into 3 job partitions')
  })

  it('is refused where records wait for a table that comes through an exchange', () => {
    const { env, numbers } = newJob()
    const table = env.table(new MemorySource([[1]], { bounded: false }), {
      keyOf: (n: number) => n,
      rowOf: (n: number) => n,
    })
    numbers
      .joinTable(
        table,
        (n) => n,
        (n, row) => n + row,
        { wait: 'loaded' },
      )
      .sinkTo(new MemorySink())
    expect(() => divide(env)).toThrow('waits until a table is loaded')
  })

  it('is warned of state that no one can query', () => {
    const { env, numbers } = newJob()
    numbers
      .keyBy((n) => n)
      .asQueryableState('NUMBERS')
      .uid('kept')
    expect(missingParts(env.graph())).toEqual([expect.stringContaining('(kept) keeps queryable')])
  })
})
