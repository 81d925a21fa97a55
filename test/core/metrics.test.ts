import { describe, expect, it } from 'vitest'
import { Histogram, MetricGroup } from '../../src/core/metrics.ts'

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

  it('gives percentiles of the last one to two minutes, and the number and sum of all', () => {
    let nowMs = 0
    const histogram = new Histogram(() => nowMs)
    histogram.observe(500)
    expect(histogram.quantile(0.99)).toBe(500)
    nowMs = 60_000
    histogram.observe(1)
    expect([histogram.quantile(0.99), histogram.max]).toEqual([500, 500])
    for (const ms of [90_000, 119_000]) {
      nowMs = ms
      histogram.observe(2)
      expect(histogram.max).toBe(500)
    }
    nowMs = 120_000
    expect([histogram.quantile(0.99), histogram.max]).toEqual([2, 2])
    nowMs = 180_000
    expect([histogram.quantile(0.99), histogram.max]).toEqual([0, 0])
    expect([histogram.count, histogram.sum]).toEqual([4, 505])
  })
})
