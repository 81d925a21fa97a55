/** The costs of the rows of a training. */
export interface RowCosts {
  readonly costs: readonly number[]
  /** Place of each row's cost in `costs`. */
  readonly places: Uint16Array
}

/** Parts of a doubling that weights are rounded to: by at most 0.6 %, so that there are few different costs, and losses. */
const PARTS = 64

/** What costs follow from. */
export interface CostsOfRows {
  readonly cost: number
  readonly positiveCost: number
  /** -1 or 1 of each row. */
  readonly signs: Int8Array
  /** By row; undefined: all 1. */
  readonly weights: Float32Array | undefined
}

/** The costs of rows: that of the label, times the weight of the row, rounded to `PARTS` steps a doubling. */
export function rowCosts({ cost, positiveCost, signs, weights }: CostsOfRows): RowCosts {
  const costs = [cost, positiveCost]
  const known = new Map<number, number>()
  const places = new Uint16Array(new SharedArrayBuffer(2 * signs.length))
  for (const [row, sign] of signs.entries()) {
    const step = weights === undefined ? 0 : Math.round(Math.log2(weights[row]!) * PARTS)
    if (!known.has(step)) {
      known.set(step, step === 0 ? 0 : costs.length)
      if (step !== 0) costs.push(cost * 2 ** (step / PARTS), positiveCost * 2 ** (step / PARTS))
    }
    places[row] = known.get(step)! + (sign > 0 ? 1 : 0)
  }
  return { costs, places }
}
