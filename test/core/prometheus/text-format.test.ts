import { describe, expect, it } from 'vitest'
import { addHistograms, FixedHistogram } from '../../../src/core/prometheus/histogram.ts'
import { prometheusText } from '../../../src/core/prometheus/text-format.ts'

describe('the text format of Prometheus', () => {
  it('writes help, type and one line for each sample', () => {
    const text = prometheusText([
      {
        name: 'requests_total',
        type: 'counter',
        help: 'Requests.',
        samples: [
          { labels: {}, value: 3 },
          { labels: { route: '/a', status: '200' }, value: 0.5 },
        ],
      },
    ])
    expect(text).toBe(
      '# HELP requests_total Requests.\n# TYPE requests_total counter\n' +
        'requests_total 3\nrequests_total{route="/a",status="200"} 0.5\n',
    )
  })

  it('escapes backslashes, quotes and line feeds', () => {
    const text = prometheusText([
      {
        name: 'x',
        type: 'gauge',
        help: 'a\\b "c"\nd',
        samples: [{ labels: { l: 'a\\b "c"\nd' }, value: 1 }],
      },
    ])
    expect(text).toBe('# HELP x a\\\\b "c"\\nd\n# TYPE x gauge\nx{l="a\\\\b \\"c\\"\\nd"} 1\n')
  })

  it('writes values that are not finite as Prometheus reads them', () => {
    const samples = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map(
      (value) => ({ labels: {}, value }),
    )
    const text = prometheusText([{ name: 'x', type: 'gauge', help: 'X.', samples }])
    expect(text.split('\n').slice(2)).toEqual(['x NaN', 'x +Inf', 'x -Inf', ''])
  })

  it('leaves out a family without samples', () => {
    expect(prometheusText([{ name: 'x', type: 'gauge', help: 'X.', samples: [] }])).toBe('')
  })

  it('writes the buckets of a histogram cumulatively, the last without a bound', () => {
    const histogram = new FixedHistogram([0.1, 1])
    for (const value of [0.1, 0.5, 0.6, 7]) histogram.observe(value)
    const text = prometheusText([
      {
        name: 'x_seconds',
        type: 'histogram',
        help: 'X.',
        samples: [{ labels: { l: 'v' }, histogram: histogram.snapshot() }],
      },
    ])
    expect(text.split('\n').slice(2)).toEqual([
      'x_seconds_bucket{l="v",le="0.1"} 1',
      'x_seconds_bucket{l="v",le="1"} 3',
      'x_seconds_bucket{l="v",le="+Inf"} 4',
      'x_seconds_sum{l="v"} 8.2',
      'x_seconds_count{l="v"} 4',
      '',
    ])
  })
})

describe('histograms of several threads', () => {
  it('add up bucket by bucket', () => {
    const [a, b] = [new FixedHistogram([1, 2]), new FixedHistogram([1, 2])]
    a.observe(1)
    b.observe(2)
    b.observe(3)
    expect(addHistograms(a.snapshot(), b.snapshot())).toEqual({
      bounds: [1, 2],
      counts: [1, 1, 1],
      sum: 6,
    })
  })
})
