import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { isWeirError } from '../../../src/core/errors.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import {
  checkpointFolder,
  countGraph,
  expectedCounts,
  finalCounts,
  QUICK_RESTARTS,
} from '../job-fixture.ts'

type Counts = readonly [string, number]

function statusesOf(job: JobExecution): string[] {
  const seen: string[] = [job.status]
  job.onStatus(({ to }) => seen.push(to))
  return seen
}

const failureOf = (job: JobExecution) =>
  job.result.then(
    () => undefined,
    (error: unknown) => (isWeirError(error) ? error : undefined),
  )

describe('JobExecution', () => {
  it('runs a bounded job to its end and counts every record once', async () => {
    await using cluster = new MiniCluster()
    const { graph, sink } = countGraph()
    const job = cluster.startLocal(graph)
    const statuses = statusesOf(job)
    const result = await job.result
    expect(result.jobName).toBe('count')
    expect(finalCounts(sink)).toEqual(expectedCounts({}))
    expect(sink.values).toHaveLength(2000)
    expect(statuses).toEqual(['INITIALIZING', 'RUNNING', 'FINISHED'])
  })

  it.each([1, 2, 3, 4])('gives the same counts at parallelism %i', async (parallelism) => {
    await using cluster = new MiniCluster()
    const { graph, sink } = countGraph({ parallelism, partitions: 3 })
    await cluster.run(graph)
    expect(finalCounts(sink)).toEqual(expectedCounts({ partitions: 3 }))
  })

  it('commits an exactly-once sink at the end, with and without checkpoints', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster()
    for (const configuration of [{}, { 'execution.checkpointing.dir': folder.path }]) {
      const { graph, sink } = countGraph({ sink: new MemorySink<Counts>('exactly-once') })
      await cluster.run(graph, { configuration })
      expect(sink.values).toHaveLength(2000)
    }
  })

  it('fails with the cause, without a restart when it takes no periodic checkpoints', async () => {
    await using cluster = new MiniCluster()
    const { graph } = countGraph({
      onRecord: (n) => {
        if (n === 7) throw new Error('seven is not allowed')
      },
    })
    const job = cluster.startLocal(graph)
    const statuses = statusesOf(job)
    const error = await failureOf(job)
    expect(error?.code).toBe('JOB_FAILED')
    expect(error?.message).toContain('seven is not allowed')
    expect(error?.message).toContain('the default of a job without periodic checkpoints')
    expect(job.attempt).toBe(1)
    expect(statuses).toEqual(['INITIALIZING', 'RUNNING', 'FAILING', 'FAILED'])
  })

  it.each([
    ['processElement', 'double'],
    ['open', 'double'],
    ['sink', 'out'],
    ['timer', 'ticker'],
  ])('names the operator that threw in the middle of a chain (%s)', async (place, operator) => {
    const throwAt = (where: string): void => {
      if (place === where) throw new Error(`thrown in ${where}`)
    }
    const sink = new MemorySink<number>()
    const writer = sink.createWriter()
    writer.write = () => throwAt('sink')
    sink.createWriter = () => writer
    await using cluster = new MiniCluster()
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    env
      // Without an end: timers of the wall clock stop with their input.
      .fromSource(new GeneratorSource({ generate: (index) => index, ratePerSecond: 1000 }))
      .uid('numbers')
      .keyBy((n) => `${n % 7}`, stringSerializer)
      .process<number>(() => ({
        processElement(n, context, out) {
          context.timerService.registerProcessingTimeTimer(0)
          out.collect(n)
        },
        onTimer: () => throwAt('timer'),
      }))
      .uid('ticker')
      .process<number>(() => ({
        open: () => throwAt('open'),
        processElement(n, _context, out) {
          throwAt('processElement')
          out.collect(n * 2)
        },
      }))
      .uid('double')
      .map((n) => n + 1)
      .uid('increment')
      .sinkTo(sink)
      .uid('out')
    const error = await failureOf(cluster.startLocal(env.graph('chain')))
    expect(error?.message).toMatch(new RegExp(`operator .*\\b${operator}\\b.* failed: thrown in`))
  })

  it('restarts a failed job from nothing when it takes no checkpoints', async () => {
    await using cluster = new MiniCluster({ configuration: QUICK_RESTARTS })
    let failures = 2
    const { graph, sink } = countGraph({
      onRecord: (n) => {
        if (n === 7 && failures-- > 0) throw new Error('not yet')
      },
    })
    const job = cluster.startLocal(graph)
    const statuses = statusesOf(job)
    await job.result
    expect(finalCounts(sink)).toEqual(expectedCounts({}))
    expect(job.attempt).toBe(3)
    expect(job.failures.map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(statuses.slice(0, 5)).toEqual([
      'INITIALIZING',
      'RUNNING',
      'FAILING',
      'RESTARTING',
      'RUNNING',
    ])
  })

  it('cancels a running job', async () => {
    await using cluster = new MiniCluster()
    const { graph } = countGraph({ countPerPartition: 1_000_000, ratePerSecond: 1000 })
    const job = cluster.startLocal(graph)
    const statuses = statusesOf(job)
    await job.waitFor('RUNNING')
    await job.cancel()
    expect(statuses).toEqual(['INITIALIZING', 'RUNNING', 'CANCELLING', 'CANCELED'])
    expect((await failureOf(job))?.code).toBe('JOB_CANCELED')
  })

  it('refuses fewer slots than the job needs', () => {
    const cluster = new MiniCluster()
    const { graph } = countGraph({ parallelism: 3 })
    const configuration = { 'taskmanager.numberOfTaskSlots': '2' }
    expect(() => cluster.startLocal(graph, { configuration })).toThrow('the job needs 3 slots')
  })

  it('runs with more slots than the job needs', async () => {
    await using cluster = new MiniCluster()
    const { graph, sink } = countGraph()
    await cluster.run(graph, { configuration: { 'taskmanager.numberOfTaskSlots': '4' } })
    expect(finalCounts(sink)).toEqual(expectedCounts({}))
  })

  it('reports metrics under the names of Flink', async () => {
    await using cluster = new MiniCluster()
    const options = { countPerPartition: 1_000_000, ratePerSecond: 20_000 }
    const { graph, sink } = countGraph(options)
    const job = cluster.startLocal(graph)
    await job.waitFor('RUNNING')
    await until('results arrive', () => sink.values.length >= 100)
    const metrics = await job.metrics()
    expect(metrics['numRestarts']).toBe(0)
    expect(metrics['counter.0.numRecordsIn']).toBeGreaterThan(0)
    expect(metrics['numbers.0.numRecordsOut']).toBeGreaterThan(0)
    expect(metrics['numbers.0.numBytesOut']).toBeGreaterThan(0)
    for (const name of [
      'counter.1.busyTimeMsPerSecond',
      'counter.1.idleTimeMsPerSecond',
      'counter.1.backPressuredTimeMsPerSecond',
      'counter.1.numRecordsInPerSecond',
      'counter.1.currentInputWatermark',
      'slot.0.mailboxLatencyMs_p99',
    ]) {
      expect(metrics, name).toHaveProperty([name])
    }
  })
})
