import { requireArgument, WeirError } from '../../core/errors.ts'
import { MOST_FEATURES } from '../../core/feature.ts'
import { bestClass, type LinearClasses } from '../../core/features/classes.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { foldRows } from '../data/fold-rows.ts'
import { SPARSE_TABLE } from '../data/kinds.ts'
import type { SparseTable } from '../data/sparse-table.ts'
import { MulticlassAccumulator, type MulticlassSummary } from '../metrics/multiclass.ts'
import type { LinearModel } from './model.ts'
import { type LinearOptions, type LinearProgress, linearSettings } from './options.ts'
import { trainLinear } from './train.ts'

/** Options of `trainMulticlass`: those of `trainLinear` that mean the same for each class. */
export interface MulticlassOptions
  extends Omit<LinearOptions, 'validation' | 'patience' | 'positiveWeight' | 'onProgress'> {
  /** Called after each round. `place`: of the class that is trained, from 0, of `classes`. */
  readonly onProgress?: (progress: LinearProgress, place: number, classes: number) => void
}

/** A trained classifier of several classes: a model for each, against the rest. */
export class MulticlassModel {
  /** In ascending order. */
  readonly labels: readonly number[]
  /** In the order of the labels. */
  readonly models: readonly LinearModel[]

  constructor(labels: readonly number[], models: readonly LinearModel[]) {
    this.labels = labels
    this.models = models
  }

  /** Where the weights of the classes are in one model. */
  get classes(): LinearClasses {
    const features = this.models[0]!.weights.length
    const hasIntercept = this.models.some(({ intercept }) => intercept !== 0)
    return { labels: this.labels, features, stride: features + (hasIntercept ? 1 : 0) }
  }

  /** Whether the training of each class ended at its tolerance. */
  get converged(): boolean {
    return this.models.every(({ converged }) => converged)
  }

  /** The decision value of each class. */
  scoresOfRow(table: SparseTable, row: number): Float64Array {
    return Float64Array.from(this.models, (model) => model.decisionOfRow(table, row))
  }

  /** The label of the class with the largest score. */
  labelOf(scores: ArrayLike<number>): number {
    return this.labels[bestClass(scores)]!
  }
}

/**
 * Trains a model for each label against all others (`trainLinear`), one after the other. Throws EMPTY_DATASET, the errors of
 * `trainLinear`, and INVALID_ARGUMENT for one label, or for so many that all classes have more than 2^27 weights.
 */
export async function trainMulticlass(
  table: SparseTable,
  options: MulticlassOptions = {},
): Promise<MulticlassModel> {
  checkArgument('trainMulticlass', 'table', SPARSE_TABLE, table)
  const { onProgress, ...given } = options
  linearSettings(given)
  const labels = labelsOf(table, options.rows)
  requireWeights(labels.length, table.features)
  const models: LinearModel[] = []
  for (const [place, label] of labels.entries()) {
    const each = (progress: LinearProgress): void => onProgress?.(progress, place, labels.length)
    models.push(
      await trainLinear(againstRest(table, label), {
        ...given,
        ...(onProgress === undefined ? {} : { onProgress: each }),
      }),
    )
  }
  return new MulticlassModel(labels, models)
}

/** Quality of a classifier of several classes on rows of a table, by default on all. Throws EMPTY_DATASET. */
export function evaluateMulticlass(
  model: MulticlassModel,
  table: SparseTable,
  rows: Uint32Array = allRows(table),
): MulticlassSummary {
  checkArgument('evaluateMulticlass', 'table', SPARSE_TABLE, table)
  const quality = qualityOf(model)
  for (const row of rows) quality.add(table.labels[row]!, model.scoresOfRow(table, row))
  return quality.summary()
}

/**
 * Trains once for each fold, on the other folds, and evaluates every row with the model that was not trained on it. Ignores
 * the option `rows`. Throws the errors of `trainMulticlass`.
 */
export async function crossValidateMulticlass(
  table: SparseTable,
  folds: number,
  options: MulticlassOptions = {},
): Promise<MulticlassSummary> {
  checkArgument('crossValidateMulticlass', 'table', SPARSE_TABLE, table)
  const { rows: _rows, onProgress: _onProgress, ...settings } = options
  const quality = new MulticlassAccumulator(labelsOf(table), settings.loss === 'logistic')
  const places = new Map(labelsOf(table).map((label, place) => [label, place]))
  for (const { train, test } of foldRows(table.rows, folds, options.seed)) {
    const model = await trainMulticlass(table, { ...settings, rows: train })
    for (const row of test) {
      // A class that the other folds do not have is never predicted.
      const scores = new Float64Array(places.size).fill(NEVER)
      for (const [c, score] of model.scoresOfRow(table, row).entries()) {
        scores[places.get(model.labels[c]!)!] = score
      }
      quality.add(table.labels[row]!, scores)
    }
  }
  return quality.summary()
}

/** Below every decision value; finite, as scores are. */
const NEVER = -Number.MAX_VALUE

function qualityOf({ labels, models }: MulticlassModel): MulticlassAccumulator {
  return new MulticlassAccumulator(labels, models[0]!.loss === 'logistic')
}

function allRows({ rows }: SparseTable): Uint32Array {
  return Uint32Array.from({ length: rows }, (_, row) => row)
}

/** The labels of rows, in ascending order. Throws EMPTY_DATASET, INVALID_ARGUMENT for one label. */
function labelsOf(table: SparseTable, rows: Uint32Array = allRows(table)): readonly number[] {
  if (rows.length === 0) {
    throw new WeirError('EMPTY_DATASET', 'there are no examples; check the file and its format')
  }
  const labels = new Set<number>()
  for (const row of rows) labels.add(table.labels[row]!)
  requireArgument(labels.size > 1, 'all examples have one label, but classes need at least two')
  return [...labels].sort((a, b) => a - b)
}

function requireWeights(classes: number, features: number): void {
  const weights = classes * (features + 1)
  requireArgument(
    weights <= MOST_FEATURES,
    `${classes} classes of ${features} features have ${weights} weights, but at most ${MOST_FEATURES} can be trained; join classes, or hash the features to fewer bits`,
  )
}

/** The same examples with the label 1 for one class, and -1 for all others. */
function againstRest(table: SparseTable, label: number): SparseTable {
  const labels = new Float32Array(new SharedArrayBuffer(4 * table.rows))
  for (let row = 0; row < table.rows; row++) labels[row] = table.labels[row] === label ? 1 : -1
  return { ...table, labels }
}
