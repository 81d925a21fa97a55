import { lineChartsSvg } from '../metrics/line-chart.ts'
import type { BmfProgress } from './options.ts'

/** Learning curve of a chain as SVG: errors and the drawn noise by sweep. */
export function bmfLearningCurve(history: readonly BmfProgress[]): string {
  const pointsOf = (value: (progress: BmfProgress) => number | undefined): [number, number][] =>
    history.flatMap((progress) => {
      const y = value(progress)
      return y === undefined ? [] : [[progress.sweep, y] as [number, number]]
    })
  const errors = [
    { name: 'training', points: pointsOf(({ trainRmse }) => trainRmse) },
    { name: 'validation', points: pointsOf(({ validationRmse }) => validationRmse) },
  ]
  const noise = [{ name: 'noise', points: pointsOf((progress) => progress.noise) }]
  return lineChartsSvg([
    { title: 'RMSE', xLabel: 'sweep', series: errors },
    { title: 'Noise', xLabel: 'sweep', series: noise },
  ])
}
