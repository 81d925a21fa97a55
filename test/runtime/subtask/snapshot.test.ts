import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { pause } from '../../run/pause.ts'
import { checkpointFolder, countGraph } from '../job-fixture.ts'

const rejections: unknown[] = []
const note = (error: unknown): void => void rejections.push(error)

beforeEach(() => process.on('unhandledRejection', note))
afterEach(() => process.off('unhandledRejection', note))

const JOB_ID = 'ab'.repeat(16)

/** A sink whose commits take `ms` milliseconds to prepare. */
function slowSink(ms: number): MemorySink<readonly [string, number]> {
  const sink = new MemorySink<readonly [string, number]>()
  const createWriter = sink.createWriter.bind(sink)
  sink.createWriter = () => {
    const writer = createWriter()
    const prepare = writer.prepareCommit.bind(writer)
    writer.prepareCommit = async (checkpointId) => {
      await pause(ms, 'a sink that is slow to prepare')
      return prepare(checkpointId)
    }
    return writer
  }
  return sink
}

it('declines a checkpoint whose segment cannot be stored while a sink still prepares', async () => {
  using folder = checkpointFolder()
  await using cluster = new MiniCluster({
    configuration: {
      'execution.checkpointing.dir': folder.path,
      'execution.checkpointing.tolerable-failed-checkpoints': '9',
    },
  })
  const options = { ratePerSecond: 1000, countPerPartition: 1e6, sink: slowSink(50) }
  const job = cluster.startLocal(countGraph(options).graph, { jobId: JOB_ID })
  await job.waitFor('RUNNING')
  // A file with the name of the folder for segments: no segment can be written.
  const segments = join(folder.path, JOB_ID, 'shared')
  rmSync(segments, { recursive: true, force: true })
  mkdirSync(join(folder.path, JOB_ID), { recursive: true })
  writeFileSync(segments, '')
  // A segment without entries is not stored at all.
  const counted = async () => (await job.metrics())['counter.0.numRecordsIn'] ?? 0
  await expect.poll(counted, { timeout: 10_000 }).toBeGreaterThan(0)
  await expect(job.triggerCheckpoint()).rejects.toMatchObject({ code: 'CHECKPOINT_DECLINED' })
  expect(rejections).toEqual([])
  expect(job.attempt).toBe(1)
  rmSync(segments)
  await job.triggerCheckpoint()
})
