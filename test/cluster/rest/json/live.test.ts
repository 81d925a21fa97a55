import { expect, it } from 'vitest'
import { liveJson } from '../../../../src/cluster/rest/json/live.ts'
import { COUNT_ID, SOURCE_ID, snapshot } from '../snapshot.ts'

it('shows the load of the subtask with the largest share, and the records of all', () => {
  const job = snapshot()
  const metrics = {
    ...job.metrics,
    'count.0.numRecordsInPerSecond': 20,
    'count.1.numRecordsInPerSecond': 22,
    'words.0.numRecordsOutPerSecond': 999,
    'words.0.split.numRecordsOutPerSecond': 30,
    'words.1.split.numRecordsOutPerSecond': 12,
  }
  expect(liveJson({ ...job, metrics, attempt: 3 })).toMatchObject({
    state: 'RUNNING',
    restarts: 2,
    takesCheckpoints: true,
    learns: false,
    parallelism: job.parallelism,
    vertices: [
      {
        id: SOURCE_ID,
        busy: 0.3,
        backPressured: 0.6,
        idle: 0,
        recordsOutPerSecond: 42,
        hasOwnParallelism: false,
      },
      { id: COUNT_ID, busy: 0, backPressured: 0, recordsInPerSecond: 42 },
    ],
  })
})

it('says which vertices have a parallelism of their own', () => {
  const job = snapshot()
  const [source, ...others] = job.vertices
  const vertices = [{ ...source!, hasOwnParallelism: true }, ...others]
  expect(liveJson({ ...job, vertices })).toMatchObject({
    vertices: [{ hasOwnParallelism: true }, { hasOwnParallelism: false }],
  })
})

it('shows the least watermark of the subtasks that have one, and how many have none', () => {
  const job = snapshot()
  const metrics = {
    ...job.metrics,
    'words.0.currentOutputWatermark': 2000,
    'words.1.currentOutputWatermark': 1500,
    'count.0.currentOutputWatermark': Number.MIN_SAFE_INTEGER,
    'count.1.currentOutputWatermark': 1234,
  }
  expect(liveJson({ ...job, metrics })).toMatchObject({
    lastFailure: null,
    vertices: [
      { watermark: 1500, withoutWatermark: 0 },
      { watermark: 1234, withoutWatermark: 1 },
    ],
  })
  expect(liveJson(job)).toMatchObject({
    vertices: [
      { watermark: null, withoutWatermark: 2 },
      { watermark: null, withoutWatermark: 2 },
    ],
  })
})
