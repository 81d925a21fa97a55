import { readLibsvm } from '../../src/training/data/read-libsvm.ts'
import { crossValidateLinear } from '../../src/training/linear/evaluate.ts'
import { trainLinear } from '../../src/training/linear/train.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { sharedData } from '../harness/shared-data.ts'
import { median, rounded } from '../load/statistics.ts'

/** The objective of LIBLINEAR's dual coordinate descent (hinge, C = 1, bias column). */
const LIBLINEAR_OBJECTIVE = 11_433.8
const ROUNDS = 3
const FOLDS = 5

/** `quality-a9a`: linear SVM with its defaults (hinge, C = 1) on a9a. */
export const qualityA9aBenchmark: Benchmark = {
  name: 'quality-a9a',
  summary: 'linear SVM on a9a: cross-validated accuracy, objective against LIBLINEAR, time',
  async run({ say }) {
    const file = sharedData('a9a/a9a', say)
    if (file === undefined) return []
    const readStart = performance.now()
    const { table } = await readLibsvm(file)
    const readSeconds = (performance.now() - readStart) / 1000
    const seconds: number[] = []
    let objective = Number.NaN
    let last: Readonly<Record<string, number>> = {}
    for (let i = 0; i < ROUNDS; i++) {
      const start = performance.now()
      const model = await trainLinear(table)
      seconds.push((performance.now() - start) / 1000)
      objective = Math.min(...model.history.map(({ primal }) => primal))
      const end = model.history.at(-1)
      last = { relativeGap: rounded(end?.relativeGap ?? Number.NaN), passes: end?.passes ?? 0 }
      say(`objective ${objective.toFixed(1)} in ${seconds[i]?.toFixed(2)} s`)
    }
    const quality = await crossValidateLinear(table, FOLDS)
    return [
      {
        name: 'quality-a9a-accuracy',
        value: 100 * quality.accuracy.mean,
        unit: '%',
        target: 84.7,
        details: { folds: FOLDS, auc: rounded(quality.auc?.mean ?? Number.NaN) },
      },
      {
        name: 'quality-a9a-objective',
        value: 100 * Math.abs(objective / LIBLINEAR_OBJECTIVE - 1),
        unit: '% from LIBLINEAR',
        target: 0.1,
        higher: false,
        details: {
          objective: Number(objective.toFixed(1)),
          liblinear: LIBLINEAR_OBJECTIVE,
          ...last,
        },
      },
      {
        name: 'quality-a9a-seconds',
        value: median(seconds),
        unit: 's',
        target: 1,
        higher: false,
        details: { readSeconds: rounded(readSeconds), rows: table.rows, threads: 1 },
      },
    ]
  },
}
