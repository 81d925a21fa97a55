import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { LogSink } from '../../../src/connectors/log/sink.ts'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder } from '../job-fixture.ts'

/** Writes numbers to topic `out` of a log, exactly once. */
function graphTo(directory: string, countPerPartition: number): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  const source = new GeneratorSource<number>({
    generate: (index) => index,
    partitions: 1,
    countPerPartition,
    ratePerSecond: 5000,
  })
  env
    .fromSource(source, undefined, 'numbers')
    .uid('numbers')
    .sinkTo(
      new LogSink<number>({
        directory,
        topic: 'out',
        guarantee: 'exactly-once',
        serialize: (n) => ({ key: undefined, value: new TextEncoder().encode(String(n)) }),
      }),
    )
    .uid('results')
  return env.graph('lost')
}

async function newLog(directory: string): Promise<string> {
  await using log = await EmbeddedLog.open(directory)
  await log.createTopic('out')
  return directory
}

describe('a restored transaction that the log does not know', () => {
  it('ends the job, unless lost transactions are accepted: then it is reported and counted', async () => {
    using folder = checkpointFolder()
    const configuration = { 'execution.checkpointing.dir': join(folder.path, 'checkpoints') }
    await using cluster = new MiniCluster({ configuration })
    const job = cluster.startLocal(graphTo(await newLog(join(folder.path, 'a')), 1_000_000))
    await job.waitFor('RUNNING')
    // The transaction has records, so that the savepoint has it.
    await until('a record is written', async () => {
      return ((await job.metrics())['numbers.0.results.numRecordsIn'] ?? 0) > 0
    })
    const restoreFrom = await job.stopWithSavepoint()
    const other = await newLog(join(folder.path, 'b'))
    const refused = cluster.startLocal(graphTo(other, 1_000_000), { restoreFrom })
    await expect(refused.result).rejects.toMatchObject({ details: { code: 'INVALID_TRANSACTION' } })
    const accepted = cluster.startLocal(graphTo(other, 1_000_000), {
      restoreFrom,
      configuration: { 'execution.state-recovery.accept-lost-transactions': 'true' },
    })
    await accepted.waitFor('RUNNING')
    const warnings: string[] = []
    accepted.onWarning(({ error }) => warnings.push(error.message))
    expect(warnings).toEqual([expect.stringContaining('operator results continues without a lost')])
    const metrics = Object.entries(await accepted.metrics())
    const lost = metrics.filter(([name]) => name.endsWith('numLostTransactions'))
    expect(lost.map(([, value]) => value)).toEqual([1])
  })
})
