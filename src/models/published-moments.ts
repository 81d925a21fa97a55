import type { ModelVersionMarker } from './model-version-marker.ts'
import { RowMoments } from './row-moments.ts'

/** Longest rows whose second moments are published: longer ones would make the marker too long. */
const LONGEST = 64

/**
 * Moments of the rows of an ALS model while they are published; the marker of the version carries
 * them, base64 of little-endian float64 as `RowMoments.encode` has them, so that whoever learns on the
 * version starts unseen users and items from the same rows, whenever it begins.
 */
export class PublishedMoments {
  private readonly user: RowMoments
  private readonly item: RowMoments

  constructor(dimension: number) {
    const meanOnly = dimension > LONGEST
    this.user = new RowMoments(dimension, meanOnly)
    this.item = new RowMoments(dimension, meanOnly)
  }

  /** Takes a row; those of other kinds than users and items are none of a model that is learned. */
  add(kind: string, row: Float32Array): void {
    if (kind === 'U') this.user.add(row)
    else if (kind === 'I') this.item.add(row)
  }

  /** What the marker carries; nothing unless both sides have rows. */
  encode(): Pick<ModelVersionMarker, 'rowMoments'> {
    const { user, item } = this
    if (user.count === 0 || item.count === 0) return {}
    return { rowMoments: { user: textOf(user.encode()), item: textOf(item.encode()) } }
  }
}

/** What a marker carries, ready for `RowMoments.decode`; undefined when it is of other rows or not there. */
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
