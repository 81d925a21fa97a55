import { expect, it } from 'vitest'
import { throughputSeries } from '../../../../src/cluster/rest/json/throughput.ts'
import { snapshot } from '../snapshot.ts'

it('adds up what the subtasks of each source read and have left, and no other operator', () => {
  const job = snapshot()
  const [source, count] = job.vertices
  const topic = { ...source!, id: 'f'.repeat(32), uid: 'my.topic', parallelism: 3 }
  const metrics = {
    'words.0.numRecordsInPerSecond': 20,
    'words.1.numRecordsInPerSecond': 22,
    'count.0.numRecordsInPerSecond': 1000,
    'count.0.pendingRecords': 1000,
    'my.topic.0.numRecordsInPerSecond': 1,
    'my.topic.1.pendingRecords': 70,
    'my.topic.2.pendingRecords': 7,
  }
  expect(throughputSeries({ ...job, vertices: [source!, topic, count!], metrics })).toEqual({
    'source.words.recordsPerSecond': 42,
    'source.my.topic.recordsPerSecond': 1,
    'source.my.topic.pendingRecords': 77,
    'job.recordsPerSecond': 43,
    'job.pendingRecords': 77,
  })
  expect(throughputSeries({ ...job, metrics: {} })).toEqual({})
})
