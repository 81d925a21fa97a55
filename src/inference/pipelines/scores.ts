import { WeirError } from '../../core/errors.ts'
import type { Tensor, TensorDatatype } from '../port/tensor.ts'
import { certaintyOf } from '../selectors/answers.ts'

/** Whether scores may have this datatype. */
export const isFloat = (datatype: TensorDatatype): boolean =>
  datatype === 'FP32' || datatype === 'FP64'

/** Scores of a batch: the elements of one output, one row for each item. */
export interface Scores {
  readonly values: Float32Array
  readonly rows: number
}

/** The scores of an output of FP32 or FP64; its first dimension counts the items where it has two. */
export function scoresOf({ datatype, shape, data }: Tensor): Scores {
  const bytes = data.slice().buffer
  const values =
    datatype === 'FP64' ? Float32Array.from(new Float64Array(bytes)) : new Float32Array(bytes)
  const items = shape.length > 1 ? shape[0]! : 1
  return { values, rows: Math.max(1, items) }
}

/** Scores as an output of FP32. */
export function tensorOfScores(values: Float32Array, like: Pick<Tensor, 'name' | 'shape'>): Tensor {
  const data = new Uint8Array(values.slice().buffer)
  return { name: like.name, datatype: 'FP32', shape: like.shape, data }
}

/**
 * How sure scores are: the certainty of the item that has the lowest one. Throws MODEL_FAILED where scores are no
 * probabilities, as those before a softmax are.
 */
export function confidenceOf({ values, rows }: Scores, step: string): number {
  let least = 1
  for (const row of rowsOf({ values, rows })) {
    const certainty = certaintyOf(row)
    if (certainty === undefined) {
      const message = `the scores of step "${step}" are no probabilities, and the pipeline asks for their confidence; let its model end with a softmax or a sigmoid`
      throw new WeirError('MODEL_FAILED', message)
    }
    least = Math.min(least, certainty)
  }
  return least
}

/** The scores of each item. */
export function rowsOf({ values, rows }: Scores): readonly Float32Array[] {
  const width = values.length / rows
  return Array.from({ length: rows }, (_, row) => values.subarray(row * width, (row + 1) * width))
}
