import { listOf, objectWith } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { type LineChart, lineChartsSvg } from '../metrics/line-chart.ts'
import type { LinearProgress } from './options.ts'

const HISTORY = listOf(objectWith<LinearProgress>('an entry of the history of a model'))

/**
 * Learning curve of a training run as SVG, by passes over the rows: the decimal logarithm of the
 * relative duality gap, both objectives, and the validation accuracy if it was measured.
 */
export function linearLearningCurve(history: readonly LinearProgress[]): string {
  checkArgument('linearLearningCurve', 'history', HISTORY, history)
  const pointsOf = (value: (progress: LinearProgress) => number | undefined): [number, number][] =>
    history.flatMap((progress) => {
      const y = value(progress)
      return y === undefined ? [] : [[progress.passes, y] as [number, number]]
    })
  const accuracy = pointsOf(({ validationAccuracy }) => validationAccuracy)
  const charts: LineChart[] = [
    {
      title: 'Relative duality gap, log10',
      xLabel: 'passes',
      series: [{ name: 'gap', points: pointsOf(({ relativeGap }) => Math.log10(relativeGap)) }],
    },
    {
      title: 'Objective',
      xLabel: 'passes',
      series: [
        { name: 'primal', points: pointsOf(({ primal }) => primal) },
        { name: 'dual', points: pointsOf(({ dual }) => dual) },
      ],
    },
    {
      title: 'Validation accuracy',
      xLabel: 'passes',
      series: [{ name: 'accuracy', points: accuracy }],
    },
  ]
  return lineChartsSvg(accuracy.length > 0 ? charts : charts.slice(0, 2))
}
