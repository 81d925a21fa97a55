import { WeirError } from '../../core/errors.ts'
import type { AlsRowKind } from './row-key.ts'

/*
 * The value of a row of an ALS model: `dimension` float32, little-endian, nothing else. A topic may have text rows, too
 * (`jobs/model-topic/row-form.ts`).
 *
 * A biased model keeps its biases in two more columns, so that a prediction and top-k stay plain inner
 * products:
 *
 *   user  [ p_0 .. p_f-1 , b_u + mu , 1   ]
 *   item  [ q_0 .. q_f-1 , 1        , b_i ]      p.q + (b_u + mu) + b_i
 */

/** Floats that biases add to a row. */
export const BIAS_COLUMNS = 2

/** A row with its identity. */
export interface AlsRow {
  readonly id: string
  readonly kind: AlsRowKind
  readonly factors: Float32Array
}

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1

/** Value bytes of a row: its float32, little-endian. */
export function encodeFactors(factors: Float32Array): Uint8Array {
  const bytes = new Uint8Array(factors.length * 4)
  if (isLittleEndian) {
    bytes.set(new Uint8Array(factors.buffer, factors.byteOffset, factors.byteLength))
    return bytes
  }
  const view = new DataView(bytes.buffer)
  for (const [i, factor] of factors.entries()) view.setFloat32(i * 4, factor, true)
  return bytes
}

/**
 * Factors of a value. Throws UNPARSABLE_RECORD if the length is no multiple of four, or is not that
 * of `dimension`, or if a factor is not finite.
 */
export function decodeFactors(bytes: Uint8Array, dimension?: number): Float32Array {
  const expected = dimension === undefined ? bytes.length & ~3 : dimension * 4
  if (bytes.length !== expected || expected === 0) {
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `a model row has ${bytes.length} bytes where ${dimension ?? 'a number of'} float32 were expected`,
      { details: { bytes: bytes.length } },
    )
  }
  const factors = new Float32Array(bytes.length / 4)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let i = 0; i < factors.length; i++) {
    const factor = view.getFloat32(i * 4, true)
    if (!Number.isFinite(factor)) {
      throw new WeirError('UNPARSABLE_RECORD', `element ${i} of a model row is not finite`, {
        details: { element: i },
      })
    }
    factors[i] = factor
  }
  return factors
}

/** Joins factors, bias and constant into a served row, as the drawing above shows. */
export function biasedRow(
  kind: AlsRowKind,
  factors: ArrayLike<number>,
  bias: number,
  globalMean: number,
): Float32Array {
  const row = new Float32Array(factors.length + BIAS_COLUMNS)
  row.set(factors)
  row[factors.length] = kind === 'U' ? bias + globalMean : 1
  row[factors.length + 1] = kind === 'U' ? 1 : bias
  return row
}

/** The bias inside a served row. */
export function biasOfRow(kind: AlsRowKind, row: Float32Array, globalMean: number): number {
  const last = row.length - 1
  return kind === 'U' ? (row[last - 1] as number) - globalMean : (row[last] as number)
}

/** Inner product in float64: what a served score is compared with. */
export function predictRating(user: ArrayLike<number>, item: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < user.length; i++) sum += (user[i] as number) * (item[i] as number)
  return sum
}

/** The mean of rows of one dimension, summed in float64: where an unseen user or item starts. */
export function meanRow(rows: Iterable<Float32Array>, dimension: number): Float32Array {
  const sums = new Float64Array(dimension)
  let count = 0
  for (const row of rows) {
    for (let i = 0; i < dimension; i++) sums[i] = (sums[i] as number) + (row[i] as number)
    count++
  }
  return Float32Array.from(sums, (sum) => (count === 0 ? 0 : sum / count))
}
