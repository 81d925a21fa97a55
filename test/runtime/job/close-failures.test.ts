import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../job-fixture.ts'

interface ClosingJob {
  readonly graph: StreamGraph
  readonly sink: MemorySink<number>
  /** Functions that were closed, as `name/subtask`. */
  readonly closed: string[]
}

interface ClosingJobOptions {
  /** Undefined: the source never ends. */
  readonly records?: number
  readonly close?: () => void | Promise<void>
  readonly onRecord?: (n: number) => void
}

const broken = (): void => {
  throw new Error('the connection is broken')
}

/** Numbers through three functions of one chain and one of another, of which the second cannot be closed. */
function closingJob(options: ClosingJobOptions = {}): ClosingJob {
  const { records, close = broken, onRecord } = options
  const closed: string[] = []
  const sink = new MemorySink<number>('exactly-once')
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  const step = (name: string, onClose?: () => void | Promise<void>) => () => {
    let self = name
    return {
      open: (context: { readonly subtask: number }) => {
        self = `${name}/${context.subtask}`
      },
      map(n: number) {
        if (name === 'second') onRecord?.(n)
        return n
      },
      close() {
        closed.push(self)
        return onClose?.()
      },
    }
  }
  const source = new GeneratorSource<number>({
    generate: (index) => index,
    partitions: 2,
    ...(records === undefined ? { ratePerSecond: 1000 } : { countPerPartition: records }),
  })
  env
    .fromSource(source)
    .richMap(step('first'))
    .richMap(step('second', close))
    .name('Second')
    .richMap(step('third'))
    .rebalance()
    .richMap(step('fourth'))
    .sinkTo(sink)
  return { graph: env.graph('closing'), sink, closed }
}

const ALL_CLOSED = ['first', 'fourth', 'second', 'third'].flatMap((name) => [
  `${name}/0`,
  `${name}/1`,
])

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'nothing failed',
    (error: Error) => error.message,
  )

describe('a function that cannot be closed', () => {
  it.each([
    { how: 'throws', close: broken },
    { how: 'rejects', close: async () => broken() },
  ])('fails a job that has ended, where it $how, and all others are closed', async ({ close }) => {
    await using cluster = new MiniCluster({ configuration: QUICK_RESTARTS })
    const { graph, sink, closed } = closingJob({ records: 10, close })
    const job = cluster.startLocal(graph)
    const statuses: string[] = []
    job.onStatus(({ to }) => statuses.push(to))
    expect(await messageOf(job.result)).toMatch(
      /ended with OPERATOR_FAILED: operator Second, task .* failed: the connection is broken \(at broken, .*\.ts:\d+:\d+\) \(no restart: close threw it after all results were committed\)/,
    )
    expect(statuses.slice(-3)).toEqual(['RUNNING', 'FAILING', 'FAILED'])
    expect(job.failures).toHaveLength(1)
    expect(job.attempt).toBe(1)
    expect(closed.sort()).toEqual(ALL_CLOSED)
    expect(sink.values).toHaveLength(20)
  })

  it('leaves a job that has failed its first error', async () => {
    await using cluster = new MiniCluster()
    const onRecord = (n: number): void => {
      if (n === 5) throw new Error('five is not allowed')
    }
    const { graph, closed } = closingJob({ records: 10, onRecord })
    const job = cluster.startLocal(graph)
    expect(await messageOf(job.result)).toContain('failed: five is not allowed')
    expect(job.failures).toHaveLength(1)
    expect(closed.sort()).toEqual(ALL_CLOSED)
  })

  it('does not fail a job that is canceled', async () => {
    await using cluster = new MiniCluster()
    const { graph, closed } = closingJob()
    const job = cluster.startLocal(graph)
    await job.waitFor('RUNNING')
    await job.cancel()
    expect(job.status).toBe('CANCELED')
    expect(await messageOf(job.result)).toContain('was canceled')
    expect(job.failures).toHaveLength(0)
    expect(closed.sort()).toEqual(ALL_CLOSED)
  })

  it.each([
    { how: 'at once', drain: false },
    { how: 'after it has drained', drain: true },
  ])('fails a job that is stopped $how, and the stop names the savepoint', async ({ drain }) => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path },
    })
    const job = cluster.startLocal(closingJob().graph)
    await job.waitFor('RUNNING')
    expect(await messageOf(job.stopWithSavepoint({ drain }))).toMatch(
      /^savepoint savepoints\/\S+ is complete, but the job ended with OPERATOR_FAILED: operator Second, task .* failed: the connection is broken/,
    )
    expect(job.status).toBe('FAILED')
    expect(await messageOf(job.result)).toContain('the connection is broken')
  })
})
