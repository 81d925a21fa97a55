import { describe, expect, it } from 'vitest'
import { buildJob } from '../../../src/dataflow/job/definition.ts'
import alsServing from '../../../src/jobs/als-serving/job.ts'
import { MODEL_ROWS_UID } from '../../../src/models/topic/operator.ts'

describe('the als-serving job', () => {
  const options = { logDirectory: '/log', topic: 'als-model', dimension: 4 }

  it('has a valid graph without warnings, under uids that its checkpoints rely on', async () => {
    const warnings: string[] = []
    const graph = await buildJob(alsServing, options, {
      parallelism: 2,
      warn: (sentence) => warnings.push(sentence),
    })
    expect(warnings).toEqual([])
    expect(graph.nodes.map(({ uid }) => uid)).toEqual(['model-topic', MODEL_ROWS_UID, 'als-model'])
  })
})
