import type { LinearClasses } from '../../core/features/classes.ts'
import { fieldsOf, malformed, type SparkModelFolder, sparkFiles } from './model-folder.ts'
import { parquetValues } from './parquet-values.ts'

/** Ids of labels of Spark: whole numbers from 0. */
const LABELS_OF_TWO = { positiveLabel: 1, negativeLabel: 0 }

/** Weights of a linear model of Spark. */
export interface SparkWeights {
  /** By feature id; of several classes as `LinearClasses` has them. */
  readonly weights: Float64Array
  /** Of two classes; those of more are among the weights. */
  readonly intercept: number
  /** The classes, where there are more than two. */
  readonly classes: LinearClasses | undefined
  /** The labels of two classes, as the hyperparameters of a version name them; else empty. */
  readonly labels: Readonly<Record<string, number>>
}

/**
 * The weights of a LinearSVCModel or a LogisticRegressionModel of Spark. `firstFeature`: the feature id of Spark's index 0,
 * because examples that Spark read from LIBSVM text have ids from 1 in the text, and from 0 in the model. Memory: 8 bytes a
 * weight. Throws FILE_NOT_FOUND and MALFORMED_DATA.
 */
export async function sparkWeights(
  { kind, place }: SparkModelFolder,
  firstFeature: number,
): Promise<SparkWeights> {
  const columns =
    kind === 'svc' ? ['coefficients', 'intercept'] : ['coefficientMatrix', 'interceptVector']
  const row = await onlyRow(place, columns)
  const rows =
    kind === 'svc'
      ? { weights: [vectorIn(place, row['coefficients'])], intercepts: [Number(row['intercept'])] }
      : {
          weights: matrixIn(place, row['coefficientMatrix']),
          intercepts: vectorIn(place, row['interceptVector']),
        }
  return placed(place, rows, firstFeature)
}

/** Weights of classes, one list each, with an intercept for each; of two classes there may be one list. */
interface Rows {
  readonly weights: readonly ArrayLike<number>[]
  readonly intercepts: ArrayLike<number>
}

/** The weights where they stand in a version. */
function placed(place: string, { weights, intercepts }: Rows, first: number): SparkWeights {
  if (weights.length === 0 || weights.length !== intercepts.length) {
    throw malformed(
      place,
      `it has weights of ${weights.length} classes, with ${intercepts.length} intercepts`,
    )
  }
  const features = first + weights[0]!.length
  const stride = features + 1
  if (weights.length < 3) {
    // Two rows of a softmax are one decision: the second label's score less the first one's.
    const own = new Float64Array(features)
    const [other, last] = weights.length === 2 ? weights : [undefined, weights[0]!]
    for (let i = 0; i < last!.length; i++) own[first + i] = last![i]! - (other?.[i] ?? 0)
    const intercept = weights.length === 2 ? intercepts[1]! - intercepts[0]! : Number(intercepts[0])
    return { weights: own, intercept, classes: undefined, labels: LABELS_OF_TWO }
  }
  const all = new Float64Array(weights.length * stride)
  for (const [at, own] of weights.entries()) {
    for (let i = 0; i < own.length; i++) all[at * stride + first + i] = own[i]!
    all[at * stride + features] = intercepts[at]!
  }
  const labels = [...weights.keys()]
  return { weights: all, intercept: 0, classes: { labels, features, stride }, labels: {} }
}

async function onlyRow(
  place: string,
  columns: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  for (const file of await sparkFiles(place, 'data')) {
    for await (const values of parquetValues(file.place, columns)) {
      const row = columns.map((column) => [column, values[column]?.[0]] as const)
      if (row.every(([, value]) => value !== undefined)) return Object.fromEntries(row)
    }
  }
  throw malformed(place, 'its folder "data" has no row')
}

/** The numbers of a vector as Spark stores it: type 1 has all of them in `values`, type 0 those at `indices`. */
function vectorIn(place: string, stored: unknown): Float64Array {
  const { type, size, indices, values } = fieldsOf(stored)
  const numbers = numbersIn(place, values)
  if (type === 1) return numbers
  const vector = new Float64Array(sizeIn(place, size))
  for (const [i, index] of numbersIn(place, indices).entries()) vector[index] = numbers[i]!
  return vector
}

/** The rows of a matrix: dense (type 1) by columns, or by rows if it is transposed; sparse (type 0) compressed the same way. */
function matrixIn(place: string, stored: unknown): readonly Float64Array[] {
  const fields = fieldsOf(stored)
  const { type, isTransposed } = fields
  const [numRows, numCols] = [sizeIn(place, fields['numRows']), sizeIn(place, fields['numCols'])]
  const values = numbersIn(place, fields['values'])
  const rows = Array.from({ length: numRows }, () => new Float64Array(numCols))
  const set = (major: number, minor: number, value: number): void => {
    const [row, column] = isTransposed === true ? [major, minor] : [minor, major]
    if (rows[row] === undefined || column >= numCols)
      throw malformed(place, 'its matrix is larger than it says')
    rows[row][column] = value
  }
  if (type === 1) {
    const minors = isTransposed === true ? numCols : numRows
    if (values.length !== numRows * numCols) throw malformed(place, 'its matrix lacks values')
    for (const [i, value] of values.entries()) set(Math.floor(i / minors), i % minors, value)
    return rows
  }
  const starts = numbersIn(place, fields['colPtrs'])
  const minors = numbersIn(place, fields['rowIndices'])
  for (let major = 0; major + 1 < starts.length; major++) {
    for (let k = starts[major]!; k < starts[major + 1]!; k++) set(major, minors[k]!, values[k]!)
  }
  return rows
}

function sizeIn(place: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0) return value
  throw malformed(place, 'a vector or a matrix has no size')
}

function numbersIn(place: string, value: unknown): Float64Array {
  if (Array.isArray(value) || value instanceof Float64Array || value instanceof Int32Array) {
    const numbers = Float64Array.from(value, Number)
    if (numbers.every(Number.isFinite)) return numbers
  }
  throw malformed(place, 'a vector or a matrix has values that are no numbers')
}
