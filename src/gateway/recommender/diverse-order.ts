import { innerProduct } from '../../core/kernels/inner-product.ts'

/** Items among which a diverse list chooses: those with the highest scores. */
export const DIVERSE_CANDIDATES = 200
/** Longest diverse list, those skipped included. */
export const MOST_DIVERSE = 100

/** An item that a list may have. */
export interface Candidate {
  readonly score: number
  /** Its row; undefined for an item that has gone since it was scored: it is like no other. */
  readonly row: Float32Array | undefined
}

/** How a list is ordered. */
export interface Diversity {
  /** What likeness to the items before costs: 0 keeps the order of the scores, 1 looks at likeness alone. */
  readonly diversity: number
  /** Columns of a row that say what an item is like: biases do not. */
  readonly columns: number
  /** Length of the list. */
  readonly most: number
}

/**
 * The places of the candidates of a diverse list, the first one first: each next one has the highest difference of its
 * score, between 0 and 1 over the candidates, and its largest cosine with one before it, weighted by `diversity` (maximal
 * marginal relevance: Carbonell and Goldstein 1998, section 2). Of equal ones the first comes first.
 */
export function diverseOrder(
  candidates: readonly Candidate[],
  { diversity, columns, most }: Diversity,
): number[] {
  const relevance = scaled(candidates.map(({ score }) => score))
  const units = candidates.map(({ row }) => unitOf(row, columns))
  const likeness = new Float64Array(candidates.length).fill(Number.NEGATIVE_INFINITY)
  const left = new Set(candidates.keys())
  const order: number[] = []
  while (order.length < most && left.size > 0) {
    const isFirst = order.length === 0
    const worth = (place: number): number =>
      (1 - diversity) * relevance[place]! - (isFirst ? 0 : diversity * likeness[place]!)
    const next = bestOf(left, worth)
    left.delete(next)
    order.push(next)
    for (const place of left) {
      const cosine = innerProduct(units[next]!, 0, units[place]!, 0, columns)
      likeness[place] = Math.max(likeness[place]!, cosine)
    }
  }
  return order
}

/** Scores from 0 to 1; all 0 where they are equal. */
function scaled(scores: readonly number[]): readonly number[] {
  const least = Math.min(...scores)
  const span = Math.max(...scores) - least
  return scores.map((score) => (span > 0 ? (score - least) / span : 0))
}

/** The first columns of a row at length 1; zeros where there is no row. */
function unitOf(row: Float32Array | undefined, columns: number): Float32Array {
  const unit = new Float32Array(columns)
  if (row === undefined) return unit
  const norm = Math.sqrt(innerProduct(row, 0, row, 0, columns))
  if (norm > 0) for (let i = 0; i < columns; i++) unit[i] = row[i]! / norm
  return unit
}

function bestOf(places: Iterable<number>, worth: (place: number) => number): number {
  let best = -1
  let most = Number.NEGATIVE_INFINITY
  for (const place of places) {
    const own = worth(place)
    if (best >= 0 && own <= most) continue
    best = place
    most = own
  }
  return best
}
