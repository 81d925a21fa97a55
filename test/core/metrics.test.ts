import { describe, expect, it } from 'vitest'
import { MetricGroup } from '../../src/core/metrics.ts'

describe('MetricGroup', () => {
  it('joins scopes by dots and shares one registry', () => {
    const root = new MetricGroup('job')
    root.group('map').group('0').counter('numRecordsIn').increment(3)
    expect(root.snapshot()).toEqual({ 'job.map.0.numRecordsIn': 3 })
  })

  it('reads gauges when a snapshot is taken', () => {
    const root = new MetricGroup()
    let value = 1
    root.gauge('depth', () => value)
    value = 5
    expect(root.snapshot()['depth']).toBe(5)
  })

  it('gives percentiles within an eighth', () => {
    const histogram = new MetricGroup().histogram('latency')
    for (let i = 1; i <= 1000; i++) histogram.observe(i)
    expect(histogram.quantile(0.5)).toBeGreaterThan(440)
    expect(histogram.quantile(0.5)).toBeLessThan(630)
    expect(histogram.quantile(0.99)).toBeGreaterThan(900)
    expect(histogram.quantile(1)).toBe(1000)
  })
})
