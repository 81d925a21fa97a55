import { describe, expect, it } from 'vitest'
import {
  addModelStatistics,
  InferenceStatistics,
} from '../../../src/gateway/inference/statistics.ts'

describe('statistics of inference requests', () => {
  it('have the wait and the run of served models, and answers of their cache apart', () => {
    const statistics = new InferenceStatistics()
    const run = { items: 2, ns: 900, queueNs: 100, computeNs: 500 }
    statistics.succeeded('ocr', '1', run, 5)
    statistics.succeeded('ocr', '1', { items: 2, ns: 80, isCached: true, queueNs: 0 }, 7)
    // A model of rows has no queue, and its whole time is its run.
    statistics.succeeded('ALS_MODEL', '1', { items: 1, ns: 30 }, 6)
    const none = { count: 0, ns: 0 }
    expect(statistics.read('ocr', '1')).toMatchObject({
      last_inference: 7,
      inference_count: 4,
      execution_count: 1,
      inference_stats: {
        success: { count: 2, ns: 980 },
        queue: { count: 1, ns: 100 },
        compute_infer: { count: 1, ns: 500 },
        cache_hit: { count: 1, ns: 80 },
      },
    })
    expect(statistics.read('ALS_MODEL', '1').inference_stats).toMatchObject({
      queue: none,
      compute_infer: { count: 1, ns: 30 },
      cache_hit: none,
    })
    const [sum] = addModelStatistics([statistics.read('ocr', '1'), statistics.read('ocr', '1')])
    expect(sum!.inference_stats).toMatchObject({
      queue: { count: 2, ns: 200 },
      compute_infer: { count: 2, ns: 1000 },
      cache_hit: { count: 2, ns: 160 },
    })
  })
})
