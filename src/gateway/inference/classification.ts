import { requireArgument } from '../../core/errors.ts'
import type { Tensor } from './tensor.ts'

/** A class of a classifier's output. */
export interface ScoredClass {
  /** Number of the class: its place in the last dimension. */
  readonly index: number
  readonly score: number
}

/** The best classes of each item, best first, equal scores in the order of the classes. Throws INVALID_ARGUMENT. */
export function bestClasses(
  { name, datatype, shape, data }: Tensor,
  count: number,
): ScoredClass[][] {
  const classes = shape.at(-1) ?? 0
  requireArgument(
    datatype !== 'BYTES' && datatype !== 'BOOL' && datatype !== 'FP16' && datatype !== 'BF16',
    `output "${name}" is ${datatype}; classification needs numbers`,
  )
  requireArgument(
    classes > 0,
    `output "${name}" has no classes: its shape is [${shape.join(', ')}]`,
  )
  const scores = Array.from(data as ArrayLike<number | bigint>, Number)
  const items: ScoredClass[][] = []
  for (let at = 0; at < scores.length; at += classes) {
    const item = scores.slice(at, at + classes).map((score, index) => ({ index, score }))
    item.sort((a, b) => b.score - a.score || a.index - b.index)
    items.push(item.slice(0, count))
  }
  return items
}

/** The output as texts `SCORE:CLASS` of the best classes, as the classification extension has them. */
export function classified(tensor: Tensor, count: number): Tensor {
  const items = bestClasses(tensor, count)
  const best = Math.min(count, tensor.shape.at(-1)!)
  return {
    name: tensor.name,
    datatype: 'BYTES',
    shape: [...tensor.shape.slice(0, -1), best],
    data: items.flat().map(({ index, score }) => `${score.toFixed(6)}:${index}`),
  }
}
