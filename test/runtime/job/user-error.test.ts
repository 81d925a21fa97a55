import { expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { checkpointFolder } from '../job-fixture.ts'

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error('no order', { cause: error })
  }
}

const FAILED_AT =
  /operator Parse, task .* failed: no order \(at parse, \/.*user-error\.test\.ts:12:11; at the record 1:2 of source orders; caused by Expected property name/

it.each([true, false])(
  'an error of a function names its line, its record and its cause, and ends the job at the fifth attempt (behind keyBy: %s)',
  async (isKeyed) => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: {
        'execution.checkpointing.dir': folder.path,
        'execution.checkpointing.interval': '10 ms',
        'restart-strategy.type': 'exponential-delay',
        'restart-strategy.exponential-delay.initial-backoff': '1 ms',
        'restart-strategy.exponential-delay.max-backoff': '1 ms',
      },
    })
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    const source = new MemorySource([
      ['1', '2'],
      ['3', '4', '{x'],
    ])
    const lines = env.fromSource(source).uid('orders')
    const read = isKeyed
      ? lines
          .keyBy((line) => line)
          .process<string>(() => ({ processElement: (line, _context, out) => out.collect(line) }))
      : lines
    read.map(parse).name('Parse').sinkTo(new MemorySink())
    const job = cluster.startLocal(env.graph('orders'))
    const error = await job.result.catch((thrown: unknown) => thrown)
    expect(String(error)).toMatch(FAILED_AT)
    expect(String(error)).toContain(
      '5 attempts in a row failed with this message at the record 1:2',
    )
    expect(job.attempt).toBe(5)
  },
)
