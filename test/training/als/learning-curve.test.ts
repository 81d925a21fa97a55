import { describe, expect, it } from 'vitest'
import { alsLearningCurve } from '../../../src/training/als/learning-curve.ts'
import type { AlsProgress } from '../../../src/training/als/solver/options.ts'
import { lineChartsSvg } from '../../../src/training/metrics/line-chart.ts'

const HISTORY: AlsProgress[] = [
  { iteration: 1, side: 'users', objective: 400, trainRmse: 1.2, seconds: 1 },
  { iteration: 1, side: 'items', objective: 300, trainRmse: 1, validationRmse: 1.1, seconds: 2 },
  { iteration: 2, side: 'users', objective: 250, trainRmse: 0.9, seconds: 3 },
  { iteration: 2, side: 'items', objective: 200, trainRmse: 0.8, validationRmse: 1, seconds: 4 },
]

const lines = (svg: string): string[][] =>
  [...svg.matchAll(/<polyline points="([^"]*)"/g)].map((match) => (match[1] ?? '').split(' '))

describe('the learning curve', () => {
  it('draws training error, validation error and objective, each from edge to edge', () => {
    const drawn = lines(alsLearningCurve(HISTORY))
    expect(drawn.map((points) => points.length)).toEqual([4, 2, 4])
    expect(drawn[0]?.[0]).toBe('72.0,32.0')
    expect(drawn[0]?.[3]).toBe('624.0,220.0')
    expect(drawn[2]?.[0]).toBe('72.0,32.0')
  })

  it('has a separate panel for NDCG, and none for missing measurements', () => {
    const svg = alsLearningCurve([
      { iteration: 1, side: 'items', objective: 9, validationNdcg: 0.3, seconds: 1 },
    ])
    expect(svg).toContain('NDCG at 10')
    expect(svg).not.toContain('RMSE')
    expect(svg).toContain('viewBox="0 0 640 520"')
  })
})

describe('a line chart', () => {
  it('escapes its texts and leaves out values that are not finite', () => {
    const svg = lineChartsSvg([
      {
        title: 'a < b & c',
        xLabel: 'x',
        series: [
          {
            name: 's',
            points: [
              [0, Number.NaN],
              [1, 5],
            ],
          },
        ],
      },
    ])
    expect(svg).toContain('a &lt; b &amp; c')
    expect(lines(svg).map((points) => points.length)).toEqual([1])
    expect(svg).not.toContain('NaN')
  })
})
