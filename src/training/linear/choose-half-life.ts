import { timeSpan } from '../../core/time.ts'
import { ageWeights, requireTimes } from '../data/age-weights.ts'
import { bestHalfLife, NEWEST } from '../data/half-life-search.ts'
import type { SparseTable } from '../data/sparse-table.ts'
import { linearLoss } from './loss.ts'
import type { LinearModel } from './model.ts'

/** What the half-life of a linear model is chosen with. */
export interface LinearHalfLifeTrial {
  /** Times of the rows of the table, ms since 1970. */
  readonly times: Float64Array
  /** A training on some rows; `weights`, one for each row of the table, says how often each counts. */
  train(rows: Uint32Array, weights: Float32Array | undefined): Promise<LinearModel>
}

/**
 * The half-life, ms, of which a training on the older examples has the least mean loss on the newest tenth (`bestHalfLife`).
 * Undefined where none is better than to count all the same, where all older examples have one time, and where they have one
 * label. It takes a training for each half-life that is tried. Throws INVALID_ARGUMENT where an example has no time.
 */
export async function chooseLinearHalfLife(
  table: SparseTable,
  { times, train }: LinearHalfLifeTrial,
): Promise<number | undefined> {
  requireTimes(times)
  const order = Uint32Array.from(times.keys()).sort((a, b) => times[a]! - times[b]! || a - b)
  const end = Math.round(order.length * (1 - NEWEST))
  const [older, newest] = [order.slice(0, end).sort(), order.slice(end)]
  const olderTimes = Float64Array.from(older, (row) => times[row]!)
  const span = timeSpan(olderTimes)
  if (span === undefined || span.newest === span.oldest || newest.length === 0) return undefined
  if (new Set(Array.from(older, (row) => table.labels[row])).size < 2) return undefined
  return await bestHalfLife(span.newest - span.oldest, async (halfLifeMs) => {
    if (halfLifeMs === undefined) return meanLoss(await train(older, undefined), table, newest)
    const weights = new Float32Array(table.rows).fill(1)
    for (const [n, weight] of ageWeights(olderTimes, halfLifeMs).entries()) {
      weights[older[n]!] = weight
    }
    return meanLoss(await train(older, weights), table, newest)
  })
}

/** The mean of the loss that was trained over rows, each as often as it counts. */
function meanLoss(model: LinearModel, table: SparseTable, rows: Uint32Array): number {
  const loss = linearLoss(model.loss, 1)
  let [sum, count] = [0, 0]
  for (const row of rows) {
    const importance = table.importance?.[row] ?? 1
    const sign = table.labels[row] === model.labels.positive ? 1 : -1
    sum += importance * loss.primal(sign * model.decisionOfRow(table, row))
    count += importance
  }
  return sum / count
}
