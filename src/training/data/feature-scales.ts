import type { SparseTable } from './sparse-table.ts'

/** How features are scaled: not, by their largest absolute value, or by their standard deviation. */
export type FeatureScaling = 'none' | 'max' | 'deviation'

/**
 * Factors that scale the features of some rows, by feature id: 1 / largest absolute value, or
 * 1 / standard deviation over these rows, where absent values count as 0. Nothing is subtracted, so that
 * absent values stay absent. A feature that does not vary is scaled by its largest absolute value, and one
 * that is always 0 not at all. Undefined for `none`.
 */
export function featureScales(
  table: SparseTable,
  rows: Uint32Array,
  scaling: FeatureScaling,
): Float64Array | undefined {
  if (scaling === 'none') return undefined
  const largest = largestValues(table, rows)
  const spreads = scaling === 'max' ? largest : deviations(table, rows)
  return spreads.map((spread, feature) => {
    const size = largest[feature] as number
    // Below this the deviation is only rounding.
    if (spread > 1e-7 * size) return 1 / spread
    return size > 0 ? 1 / size : 1
  })
}

/** The table with the values of each feature times its factor; it shares all else with the table. */
export function scaledTable(table: SparseTable, scales: Float64Array): SparseTable {
  const { indexes, values } = table
  const scaled = new Float32Array(new SharedArrayBuffer(values.byteLength))
  for (let k = 0; k < values.length; k++) {
    scaled[k] = (values[k] as number) * (scales[indexes[k] as number] as number)
  }
  return { ...table, values: scaled }
}

function largestValues(table: SparseTable, rows: Uint32Array): Float64Array {
  const largest = new Float64Array(table.features)
  forEachValue(table, rows, (feature, value) => {
    largest[feature] = Math.max(largest[feature] as number, Math.abs(value))
  })
  return largest
}

/** Standard deviations in two passes: the difference of two large sums would be inexact. */
function deviations(table: SparseTable, rows: Uint32Array): Float64Array {
  const means = new Float64Array(table.features)
  const present = new Float64Array(table.features)
  forEachValue(table, rows, (feature, value) => {
    means[feature] = (means[feature] as number) + value / rows.length
    present[feature] = (present[feature] as number) + 1
  })
  const squares = means.map((mean, j) => (rows.length - (present[j] as number)) * mean * mean)
  forEachValue(table, rows, (feature, value) => {
    squares[feature] = (squares[feature] as number) + (value - (means[feature] as number)) ** 2
  })
  return squares.map((square) => Math.sqrt(square / rows.length))
}

function forEachValue(
  { offsets, indexes, values }: SparseTable,
  rows: Uint32Array,
  visit: (feature: number, value: number) => void,
): void {
  for (const row of rows) {
    const end = offsets[row + 1] as number
    for (let k = offsets[row] as number; k < end; k++) {
      visit(indexes[k] as number, values[k] as number)
    }
  }
}
