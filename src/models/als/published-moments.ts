import type { ModelVersionMarker } from '../registry/version-marker.ts'
import { RowMoments } from './row-moments.ts'

/** Maximum floats of rows whose second moments are published: the marker would get too long. */
const LONGEST = 64

/**
 * Collects the moments of an ALS model's rows while they are published. The marker of the version has them,
 * in base64 of little-endian float64 (`RowMoments.encode`), so that every learner starts new users and
 * items from the same rows, at any time.
 */
export class PublishedMoments {
  private readonly user: RowMoments
  private readonly item: RowMoments

  constructor(dimension: number) {
    const meanOnly = dimension > LONGEST
    this.user = new RowMoments(dimension, meanOnly)
    this.item = new RowMoments(dimension, meanOnly)
  }

  /** Adds a row; rows of other kinds than users and items are ignored. */
  add(kind: string, row: Float32Array): void {
    if (kind === 'U') this.user.add(row)
    else if (kind === 'I') this.item.add(row)
  }

  /** Fields of the marker; none unless both sides have rows. */
  encode(): Pick<ModelVersionMarker, 'rowMoments'> {
    const { user, item } = this
    if (user.count === 0 || item.count === 0) return {}
    return { rowMoments: { user: textOf(user.encode()), item: textOf(item.encode()) } }
  }
}

/** Moments of a marker for `RowMoments.decode`; undefined if it has none, or of rows of another length. */
export function publishedMoments({
  dimension,
  rowMoments,
}: ModelVersionMarker): { readonly user: Float64Array; readonly item: Float64Array } | undefined {
  if (rowMoments === undefined) return undefined
  const user = numbersOf(rowMoments.user)
  const item = numbersOf(rowMoments.item)
  return user?.[0] === dimension && item?.[0] === dimension ? { user, item } : undefined
}

function textOf(numbers: Float64Array): string {
  return Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength).toString('base64')
}

function numbersOf(text: string): Float64Array | undefined {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'))
  return bytes.length % 8 === 0 ? new Float64Array(bytes.buffer) : undefined
}
