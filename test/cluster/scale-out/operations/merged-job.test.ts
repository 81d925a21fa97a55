import { describe, expect, it } from 'vitest'
import { asPartition, mergedJob } from '../../../../src/cluster/scale-out/operations/merged-job.ts'
import { CHECKPOINT, COUNT, SOURCE, snapshot } from '../../rest/snapshot.ts'

const PARTITIONS = 3

/** What one partition says: it has read so many records, and restarted so often. */
function partOf(partition: number, records: number, restarts = 0) {
  const alone = snapshot({
    vertices: [
      { ...SOURCE, parallelism: 1 },
      { ...COUNT, uid: 'a.0.b', parallelism: 1, hasOwnParallelism: true },
    ].slice(0, partition === 0 ? 2 : 1),
    slots: [{ number: 0, status: 'running' }],
    metrics: {
      'words.0.numRecordsIn': records,
      'a.0.b.0.numRecordsIn': 1,
      'slot.0.heapUsedBytes': 10,
      numRestarts: restarts,
      lastCheckpointDuration: 100 * partition,
    },
  })
  return asPartition(alone, partition, PARTITIONS)
}

describe('the job of several partitions', () => {
  const parts = [partOf(2, 30, 1), partOf(0, 10, 2)]
  const job = mergedJob(snapshot({ vertices: [], metrics: {}, slots: [] }), parts)

  it('has the metrics of each under its number, counts that add up, and the largest of the others', () => {
    expect(job.metrics).toMatchObject({
      'words.0.numRecordsIn': 10,
      'words.2.numRecordsIn': 30,
      'a.0.b.0.numRecordsIn': 1,
      'slot.0.heapUsedBytes': 10,
      'slot.2.heapUsedBytes': 10,
      numRestarts: 3,
      lastCheckpointDuration: 200,
    })
    expect(job.slots.map(({ number }) => number)).toEqual([0, 2])
  })

  it('has each vertex once, with a subtask for each partition, or one where only partition 0 has it', () => {
    expect(job.vertices.map(({ uid, parallelism }) => [uid, parallelism])).toEqual([
      ['words', PARTITIONS],
      ['a.0.b', 1],
    ])
  })

  it('has the checkpoints of all, the newest first', () => {
    const { settings } = snapshot().checkpoints!
    const of = (id: number, atMs: number) =>
      snapshot({
        checkpoints: {
          counts: { restored: 0, total: 2, in_progress: 0, completed: 2, failed: 0 },
          history: [{ ...CHECKPOINT, id, trigger_timestamp: atMs }],
          restored: undefined,
          settings,
        },
      })
    const { checkpoints } = mergedJob(snapshot(), [of(1, 500), of(9, 700)])
    expect(checkpoints?.counts.completed).toBe(4)
    expect(checkpoints?.history.map(({ id }) => id)).toEqual([9, 1])
  })
})
