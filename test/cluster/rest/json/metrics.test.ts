import { describe, expect, it } from 'vitest'
import {
  aggregatedMetricsJson,
  jobMetrics,
  metricsJson,
  subtaskMetrics,
  vertexMetrics,
} from '../../../../src/cluster/rest/json/metrics.ts'
import { COUNT, SOURCE, snapshot } from '../snapshot.ts'

describe('the JSON of metrics', () => {
  it('lists names without "get" and gives values as text with it', () => {
    expect(metricsJson({ a: 1, b: 2.5 }, undefined)).toEqual([{ id: 'a' }, { id: 'b' }])
    expect(metricsJson({ a: 1, b: 2.5 }, ['b', 'missing'])).toEqual([{ id: 'b', value: '2.5' }])
  })

  it('does not take names of Object for metrics', () => {
    expect(metricsJson({ a: 1 }, ['constructor', '__proto__'])).toEqual([])
    expect(aggregatedMetricsJson([{ a: 1 }], ['toString'], ['sum'])).toEqual([])
  })

  it('aggregates over those that have the metric', () => {
    const all = [{ a: 1 }, { a: 3 }, {}]
    expect(aggregatedMetricsJson(all, ['a'], ['min', 'max', 'sum', 'avg'])).toEqual([
      { id: 'a', min: 1, max: 3, sum: 4, avg: 2 },
    ])
  })

  it('gives skew as in Flink: the mean distance from the average in percent of it', () => {
    expect(aggregatedMetricsJson([{ a: 0 }, { a: 10 }], ['a'], ['skew'])).toEqual([
      { id: 'a', skew: 100 },
    ])
    expect(aggregatedMetricsJson([{ a: 5 }, { a: 5 }], ['a'], ['skew'])).toEqual([
      { id: 'a', skew: 0 },
    ])
  })

  it('keeps the metrics of tasks and slots out of those of the job', () => {
    expect(Object.keys(jobMetrics(snapshot()))).toEqual([
      'numRestarts',
      'runningTime',
      'uptime',
      'restartingTime',
    ])
  })

  it('does not mix up vertices of which one uid begins with the other', () => {
    const job = snapshot({ metrics: { 'count.0.x': 1, 'count.again.0.x': 2 } })
    expect(vertexMetrics(job, COUNT)).toEqual({ '0.x': 1 })
  })

  it('drops the number of the subtask from its metrics', () => {
    expect(subtaskMetrics(snapshot(), SOURCE, 1)).toEqual({
      'split.numRecordsOut': 12,
      backPressuredTimeMsPerSecond: 50,
    })
  })
})
