import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { FileCheckpointStorage } from '../../../src/runtime/checkpoint/storage/file.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import {
  type CountOptions,
  checkpointFolder,
  countGraph,
  expectedCounts,
  finalCounts,
  QUICK_RESTARTS,
} from '../job-fixture.ts'

const JOB_ID = 'd'.repeat(32)
const OPTIONS: CountOptions = { countPerPartition: 3000, ratePerSecond: 20_000 }
/** Slow enough that the records do not end before the checkpoints, however busy the machine is. */
const SLOW: CountOptions = { ...OPTIONS, ratePerSecond: 300 }
/** New results before each checkpoint. */
const RESULTS = 30

type Counts = readonly [string, number]

/** Runs the job until it has completed `checkpoints` checkpoints, then suspends it as a crash would. */
async function suspended(cluster: MiniCluster, checkpoints: number): Promise<MemorySink<Counts>> {
  const sink = new MemorySink<Counts>()
  const job = cluster.startLocal(countGraph({ ...SLOW, sink }).graph, { jobId: JOB_ID })
  await job.waitFor('RUNNING')
  for (let n = 0; n < checkpoints; n++) {
    const before = sink.values.length
    await until('new results arrive', () => sink.values.length >= before + RESULTS)
    await job.triggerCheckpoint()
  }
  await job.suspend()
  return sink
}

function clusterAt(path: string): MiniCluster {
  const configuration = {
    'execution.checkpointing.dir': path,
    'execution.checkpointing.interval': '1 h',
  }
  return new MiniCluster({ configuration })
}

function messagesOf(job: JobExecution): string[] {
  const messages: string[] = []
  job.onWarning(({ error }) => messages.push(error.message))
  return messages
}

function flip(file: string): void {
  const bytes = readFileSync(file)
  bytes[bytes.length >> 1]! ^= 1
  writeFileSync(file, bytes)
}

/** The segment with the highest number of each subtask: those that the newest checkpoint added. */
function newestSegments(path: string): string[] {
  const shared = join(path, JOB_ID, 'shared')
  const names = readdirSync(shared)
  const highest = Math.max(...names.map((name) => Number(name.split('-').at(-1))))
  return names.filter((name) => name.endsWith(`-${highest}`)).map((name) => join(shared, name))
}

describe('a job whose newest checkpoint is damaged', () => {
  it('does not start from nothing when the flipped manifest is the only one, and keeps every file', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    await suspended(cluster, 1)
    const job = join(folder.path, JOB_ID)
    const files = readdirSync(join(job, 'shared'))
    const manifest = join(job, 'chk-1', '_metadata')
    flip(manifest)
    const next = cluster.startLocal(countGraph(OPTIONS).graph, { jobId: JOB_ID })
    await expect(next.result).rejects.toMatchObject({
      code: 'JOB_FAILED',
      message: expect.stringContaining('chk-1/_metadata'),
    })
    expect(next.attempt).toBe(1)
    expect(readdirSync(join(job, 'shared'))).toEqual(files)
    flip(manifest)
    const sink = new MemorySink<Counts>()
    await cluster.run(countGraph({ ...OPTIONS, sink }).graph, { jobId: JOB_ID })
    expect(finalCounts(sink)).toEqual(expectedCounts(OPTIONS))
  })

  it('continues from the checkpoint before with a warning and a metric when a manifest is damaged', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    await suspended(cluster, 2)
    flip(join(folder.path, JOB_ID, 'chk-2', '_metadata'))
    const sink = new MemorySink<Counts>()
    const job = cluster.startLocal(countGraph({ ...OPTIONS, sink }).graph, { jobId: JOB_ID })
    await job.waitFor('RUNNING')
    expect((await job.metrics())['numberOfCheckpointFileWarnings']).toBe(1)
    await job.result
    expect(messagesOf(job)).toEqual([expect.stringContaining('continues from checkpoint 1')])
    expect(finalCounts(sink)).toEqual(expectedCounts(OPTIONS))
  })

  it('continues from the checkpoint before when a bit of a segment is flipped', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    await suspended(cluster, 2)
    for (const segment of newestSegments(folder.path)) flip(segment)
    const sink = new MemorySink<Counts>()
    const job = cluster.startLocal(countGraph({ ...OPTIONS, sink }).graph, { jobId: JOB_ID })
    await job.result
    expect(job.attempt).toBe(2)
    expect(messagesOf(job)).toEqual([expect.stringContaining('continues from checkpoint 1')])
    expect(finalCounts(sink)).toEqual(expectedCounts(OPTIONS))
  })

  it('does not start from nothing after a start at which storage was away', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    await suspended(cluster, 1)
    const list = vi.spyOn(FileCheckpointStorage.prototype, 'list')
    list.mockRejectedValueOnce(new WeirError('STORAGE_FAILED', 'the storage is away'))
    try {
      const job = cluster.startLocal(countGraph(OPTIONS).graph, {
        jobId: JOB_ID,
        configuration: QUICK_RESTARTS,
      })
      await job.waitFor('RUNNING')
      expect(job.failures.map(({ error }) => error.message)).toEqual(['the storage is away'])
      expect(job.checkpointStatistics?.counts().restored).toBe(1)
      await job.result
    } finally {
      list.mockRestore()
    }
  })

  it('ends with the name of the segment when no older checkpoint is whole', async () => {
    using folder = checkpointFolder()
    await using cluster = clusterAt(folder.path)
    await suspended(cluster, 1)
    const segments = newestSegments(folder.path)
    for (const segment of segments) flip(segment)
    const job = cluster.startLocal(countGraph(OPTIONS).graph, { jobId: JOB_ID })
    await expect(job.result).rejects.toThrow(/shared\/1-1-counter-\d-1 is damaged/)
    expect(job.status).toBe('FAILED')
  })
})
