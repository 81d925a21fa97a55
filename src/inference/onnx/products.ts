import { withItems } from './axis-rules.ts'
import { broadcastOf } from './elementwise.ts'
import type { Operation, Rule } from './operation.ts'
import { isSameSize, knownSize, ONE, type Size } from './size.ts'
import { fixedTensor, type TracedTensor } from './traced-value.ts'

/** `MatMul`: its inputs are those with these numbers, the others are scales and zeros. */
export const matMul =
  (left: number, right: number): Rule =>
  (operation) => {
    operation.requireNoCounts()
    requireScales(operation, [left, right])
    const [a, b] = [operation.input(left), operation.input(right)]
    const isWhole = a.shape !== undefined && b.shape !== undefined
    if (!isWhole && !operation.isOfItems) return [fixedTensor()]
    return [productOfMatrices(operation, [a, operation.shape(left)], [b, operation.shape(right)])]
  }

/** Inputs beside the factors must be single numbers, or not depend on the items and be along the last axis. */
function requireScales(operation: Operation, factors: readonly number[]): void {
  for (let i = 0; i < operation.inputs.length; i++) if (!factors.includes(i)) operation.fixed(i)
}

type Matrix = readonly [tensor: TracedTensor, shape: readonly Size[]]

function productOfMatrices(
  operation: Operation,
  [a, left]: Matrix,
  [b, right]: Matrix,
): TracedTensor {
  const [m, n] = [left.length, right.length]
  if (m === 0 || n === 0) throw operation.mixing('takes matrices')
  if (a.items?.axis === m - 1) throw operation.over(m - 1)
  if (b.items?.axis === Math.max(0, n - 2)) throw operation.over(Math.max(0, n - 2))
  // As matrices with the inner axis of size 1, the rules of broadcasting say where the items go.
  const rows = m === 1 ? [ONE, ONE] : left.map((size, d) => (d === m - 1 ? ONE : size))
  const columns = n === 1 ? [ONE, ONE] : right.map((size, d) => (d === n - 2 ? ONE : size))
  const { shape, items } = broadcastOf(operation, [
    { shape: rows, items: a.items, numbers: undefined },
    { shape: columns, items: b.items, numbers: undefined },
  ])
  const drop = [...(m === 1 ? [shape!.length - 2] : []), ...(n === 1 ? [shape!.length - 1] : [])]
  const kept = shape!.filter((_, d) => !drop.includes(d))
  const before = drop.filter((d) => d < (items?.axis ?? 0)).length
  return withItems(kept, items, (items?.axis ?? 0) - before)
}

/** `Gemm`: a product of two matrices, and a third tensor that is added. */
export const gemm: Rule = (operation) => {
  operation.requireNoCounts()
  const turned = (i: number, name: string): Matrix => {
    const [tensor, shape] = [operation.input(i), operation.shape(i)]
    if (operation.number(name, 0) === 0) return [tensor, shape]
    return [
      withItems([...shape].reverse(), tensor.items, 1 - (tensor.items?.axis ?? 0)),
      [...shape].reverse(),
    ]
  }
  const product = productOfMatrices(operation, turned(0, 'transA'), turned(1, 'transB'))
  const added = operation.inputs[2]
  return [added === undefined ? product : broadcastOf(operation, [product, added])]
}

/** `Einsum`: the letter of the items must be in each tensor that has them, and in the output. */
export const einsum: Rule = (operation) => {
  operation.requireNoCounts()
  if (!operation.isOfItems) return operation.fixedOutputs()
  const equation = operation.text('equation', '').replaceAll(' ', '')
  const [left, output] = equation.split('->')
  if (output === undefined || equation.includes('.'))
    throw operation.mixing(`has the equation ${equation}`)
  const terms = left!.split(',')
  const sizes = new Map<string, Size>()
  let letter: string | undefined
  let items: TracedTensor['items']
  terms.forEach((term, i) => {
    const shape = operation.shape(i)
    ;[...term].forEach((one, d) => {
      const known = sizes.get(one)
      if (known === undefined || knownSize(known) === 1) sizes.set(one, shape[d] ?? ONE)
    })
    const own = operation.input(i).items
    if (own === undefined) return
    if (
      letter !== undefined &&
      (letter !== term[own.axis] || !isSameSize(own.outer, items!.outer))
    ) {
      throw operation.mixing('brings the items of two axes together')
    }
    letter = term[own.axis]
    items = own
  })
  for (const [i, term] of terms.entries()) {
    const often = [...term].filter((one) => one === letter).length
    const wanted = operation.input(i).items === undefined ? 0 : 1
    if (often !== wanted) throw operation.mixing('meets the items with an axis of another size')
  }
  const at = output.indexOf(letter!)
  if (at < 0) throw operation.over(items!.axis)
  return [
    withItems(
      [...output].map((one) => sizes.get(one) ?? ONE),
      items,
      at,
    ),
  ]
}
