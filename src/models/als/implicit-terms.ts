import type { ModelVersionMarker } from '../registry/version-marker.ts'
import { PENALTY_SCALINGS, type PenaltyScaling } from './penalty.ts'
import { publishedMoments } from './published-moments.ts'
import { RowMoments } from './row-moments.ts'
import { packedLength } from './small-symmetric.ts'

/** What the row of a user follows from in a model of implicit feedback, besides the user's events. */
export interface ImplicitTerms {
  /** An event of value r has the confidence 1 + alpha |r|. */
  readonly alpha: number
  /** Lambda. */
  readonly regularization: number
  readonly penalty: PenaltyScaling
  /** Sum of y y^T over the rows y of all items, packed (`small-symmetric.ts`). */
  readonly gram: Float32Array
}

/**
 * The terms of a version. Undefined for one of explicit feedback, and for one that does not say how it was trained or what
 * the moments of its rows are: of an earlier build, or with rows of more than 64 floats.
 */
export function implicitTerms(marker: ModelVersionMarker): ImplicitTerms | undefined {
  const { hyperparameters, dimension, biased } = marker
  const { feedback, alpha, regularization, penalty: named } = hyperparameters
  if (feedback !== 'implicit' || biased) return undefined
  const penalty = PENALTY_SCALINGS.find((one) => one === named)
  if (!isPositive(alpha) || !isPositive(regularization) || penalty === undefined) return undefined
  const moments = publishedMoments(marker)?.item
  if (moments?.length !== 2 + dimension + packedLength(dimension)) return undefined
  return { alpha, regularization, penalty, gram: gramOf(RowMoments.decode(moments), dimension) }
}

/** Sum of y y^T over the rows y of some moments, of `dimension` floats, packed (`small-symmetric.ts`). */
export function gramOf(rows: RowMoments, dimension: number): Float32Array {
  const columns = Int32Array.from({ length: dimension }, (_, column) => column)
  return Float32Array.from(rows.secondMoments(columns), (mean) => mean * rows.count)
}

/** Terms as a routing table has them (`VersionTerms`). */
export interface EncodedTerms {
  readonly alpha: number
  readonly regularization: number
  readonly penalty: string
  /** Base64 of little-endian float32. */
  readonly gram: string
}

/** The terms as a routing table has them. */
export function encodeTerms({ gram, ...terms }: ImplicitTerms): EncodedTerms {
  const bytes = Buffer.from(gram.buffer, gram.byteOffset, gram.byteLength)
  return { ...terms, gram: bytes.toString('base64') }
}

/** The terms of rows of `dimension` floats; undefined for what a later build may write otherwise. */
export function decodeTerms(encoded: EncodedTerms, dimension: number): ImplicitTerms | undefined {
  const { alpha, regularization } = encoded
  const penalty = PENALTY_SCALINGS.find((one) => one === encoded.penalty)
  const bytes = Uint8Array.from(Buffer.from(encoded.gram, 'base64'))
  if (penalty === undefined || bytes.length !== 4 * packedLength(dimension)) return undefined
  return { alpha, regularization, penalty, gram: new Float32Array(bytes.buffer) }
}

function isPositive(value: number | string | boolean | undefined): value is number {
  return typeof value === 'number' && value > 0 && Number.isFinite(value)
}
