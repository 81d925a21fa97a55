import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { int53Serializer, type Serializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { SavepointReader } from '../../../src/runtime/savepoints/reader.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../job-fixture.ts'

/** What a job has warned of. */
function warningsOf(job: JobExecution): string[] {
  const messages: string[] = []
  job.onWarning(({ error }) => messages.push(error.message))
  return messages
}

/** Names of the counter's states in the newest checkpoint of a job. */
async function statesOf(folder: string): Promise<string[]> {
  const ids = readdirSync(folder).flatMap((name) => /^chk-(\d+)$/.exec(name)?.[1] ?? [])
  const path = join(folder, `chk-${Math.max(...ids.map(Number))}`)
  await using reader = await SavepointReader.read(path)
  const counter = reader.operators.find(({ uid }) => uid === 'counter')
  return counter!.states.map(({ name }) => name)
}

/** Counts nothing: the operator that counted has neither key nor state. */
function graphWithoutKeys(): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  const numbers = env.fromElements([1, 2, 3, 4]).uid('numbers')
  numbers
    .map((n) => n)
    .uid('counter')
    .sinkTo(new MemorySink())
    .uid('results')
  return env.graph('renamed')
}

/** Counts by key in a state of this name. */
function graphWith(stateName: string, uid = 'counter', count = 4): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  const source = new GeneratorSource<number>({
    generate: (index) => index % 8,
    partitions: 2,
    countPerPartition: count,
    ratePerSecond: 10_000,
  })
  env
    .fromSource(source, undefined, 'numbers', {
      serializer: int53Serializer as Serializer<number>,
    })
    .uid('numbers')
    .keyBy((n) => n)
    .process<number>(() => {
      let count: ValueState<number>
      return {
        open(context) {
          count = context.getState(valueState(stateName, { serializer: int53Serializer }))
        },
        processElement(_n, _context, out) {
          const next = (count.value() ?? 0) + 1
          count.update(next)
          out.collect(next)
        },
      }
    })
    .uid(uid)
    .sinkTo(new MemorySink())
    .uid('results')
  return env.graph('renamed')
}

describe('a state that is renamed under the same uid', () => {
  it('is refused with its name, and dropped where that is allowed: the next start needs no leave', async () => {
    using folder = checkpointFolder()
    const configuration = { 'execution.checkpointing.dir': folder.path }
    await using cluster = new MiniCluster({ configuration })
    const jobId = 'f'.repeat(32)
    await cluster.run(graphWith('open-session'), { jobId })
    const renamed = cluster.startLocal(graphWith('open-session2'), { jobId })
    await expect(renamed.result).rejects.toMatchObject({
      code: 'JOB_FAILED',
      details: { code: 'STATE_LEFT_OVER' },
      message: expect.stringContaining('state "open-session" of operator counter'),
    })
    expect(renamed.attempt).toBe(1)
    const leave = { jobId, allowNonRestoredState: true }
    const dropped = cluster.startLocal(graphWith('open-session2'), leave)
    await dropped.result
    expect(warningsOf(dropped)).toEqual([
      expect.stringMatching(
        /^dropped state "open-session" of operator counter \((?!0 )\d+ bytes\)/,
      ),
    ])
    const next = cluster.startLocal(graphWith('open-session2'), { jobId })
    await next.result
    expect(warningsOf(next)).toEqual([])
    expect(await statesOf(join(folder.path, jobId))).toEqual(['open-session2'])
  })

  it('is dropped by a job that fails before and after its first checkpoint, too', async () => {
    using folder = checkpointFolder()
    const configuration = { ...QUICK_RESTARTS, 'execution.checkpointing.dir': folder.path }
    await using cluster = new MiniCluster({ configuration })
    const jobId = 'e'.repeat(32)
    await cluster.run(graphWith('open-session'), { jobId })
    const leave = { jobId, allowNonRestoredState: true }
    const job = cluster.startLocal(graphWith('open-session2', 'counter', 1_000_000), leave)
    await job.waitFor('RUNNING')
    job.killSlot(0)
    await job.waitFor('RESTARTING')
    await job.waitFor('RUNNING')
    await job.triggerCheckpoint()
    job.killSlot(1)
    await job.waitFor('RESTARTING')
    await job.waitFor('RUNNING')
    await job.suspend()
    expect(warningsOf(job).filter((text) => text.includes('open-session'))).toHaveLength(1)
    const next = cluster.startLocal(graphWith('open-session2', 'counter', 1_000_000), { jobId })
    await next.waitFor('RUNNING')
    await next.cancel()
  })

  it('is dropped together with the operator, and with the key of its input', async () => {
    using folder = checkpointFolder()
    const configuration = { 'execution.checkpointing.dir': folder.path }
    await using cluster = new MiniCluster({ configuration })
    for (const [n, other] of [graphWith('s', 'other'), graphWithoutKeys()].entries()) {
      const jobId = String(n).repeat(32)
      await cluster.run(graphWith('s'), { jobId })
      const refused = cluster.startLocal(other, { jobId })
      await expect(refused.result).rejects.toMatchObject({ details: { code: 'STATE_LEFT_OVER' } })
      const dropped = cluster.startLocal(other, { jobId, allowNonRestoredState: true })
      await dropped.result
      expect(warningsOf(dropped)).toEqual([
        expect.stringMatching(/^dropped the state of operator counter \(\d+ bytes\)/),
      ])
      await cluster.run(other, { jobId })
    }
  })
})
