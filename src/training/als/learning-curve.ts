import { listOf, objectWith } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { type LineChart, lineChartsSvg } from '../metrics/line-chart.ts'
import type { AlsProgress } from './solver/options.ts'

const HISTORY = listOf(objectWith<AlsProgress>('an entry of the history of a model'))

/**
 * Learning curve of a training run as SVG: measured errors and the objective by iteration. The user
 * half of iteration n is at n - 0.5.
 */
export function alsLearningCurve(history: readonly AlsProgress[]): string {
  checkArgument('alsLearningCurve', 'history', HISTORY, history)
  const pointsOf = (value: (progress: AlsProgress) => number | undefined): [number, number][] =>
    history.flatMap((progress) => {
      const y = value(progress)
      const x = progress.iteration - (progress.side === 'users' ? 0.5 : 0)
      return y === undefined ? [] : [[x, y] as [number, number]]
    })
  const errors = [
    { name: 'training', points: pointsOf(({ trainRmse }) => trainRmse) },
    { name: 'validation', points: pointsOf(({ validationRmse }) => validationRmse) },
  ]
  const ranking = { name: 'validation', points: pointsOf(({ validationNdcg }) => validationNdcg) }
  const charts: LineChart[] = [
    { title: 'RMSE', xLabel: 'iteration', series: errors },
    { title: 'NDCG at 10', xLabel: 'iteration', series: [ranking] },
    {
      title: 'Objective',
      xLabel: 'iteration',
      series: [{ name: 'objective', points: pointsOf(({ objective }) => objective) }],
    },
  ]
  return lineChartsSvg(
    charts.filter(({ series }) => series.some(({ points }) => points.length > 0)),
  )
}
