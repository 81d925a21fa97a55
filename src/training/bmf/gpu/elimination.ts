import type { GraphValue, OnnxGraphBuilder } from '../../gpu/onnx-graph.ts'

/** What elimination leaves of the systems P x = b of a batch of B rows, with P = L D L^T. */
export interface Eliminated {
  /** L^-T, with rows of zeros below: [B, width, d]. */
  readonly inverse: GraphValue
  /** D: [B, d, 1]. */
  readonly pivots: GraphValue
  /** L^-1 b: [B, d, 1]. */
  readonly forward: GraphValue
}

/**
 * Adds the elimination of `systems`, [B, d, width], to a graph: columns 0 to d - 1 are P, symmetric and
 * positive definite, column d is b, and what follows is zero.
 *
 * Step j takes the first row that is left as row j of the result and subtracts its multiples from the rows
 * below, as in the right-looking L D L^T. Column j, which would become zero, gets the multipliers in place of it:
 * so the columns before the diagonal become L^-1, as in the inversion in place by Gauss and Jordan, and no
 * substitution is needed, which would have as many steps again. A step is seven operations, however
 * many systems there are.
 */
export function eliminate(
  graph: OnnxGraphBuilder,
  systems: GraphValue,
  shape: SystemShape,
): Eliminated {
  const { unknowns, width } = shape
  const rows: GraphValue[] = []
  let left = systems
  for (let j = 0; j + 1 < unknowns; j++) {
    const below = unknowns - 1 - j
    const column = graph.slice(left, 2, j, j + 1)
    const [top, bottom] = graph.split(left, 1, [1, below]) as [GraphValue, GraphValue]
    const [pivot, entries] = graph.split(column, 1, [1, below]) as [GraphValue, GraphValue]
    const multipliers = graph.add('Div', [entries, pivot])
    // c - c / p (p + 1) = -c / p, the entry of L^-1.
    const raised = graph.add('Add', [top, unitRow(graph, width, j)])
    left = graph.add('Sub', [bottom, graph.add('Mul', [multipliers, raised])])
    rows.push(top)
  }
  rows.push(left)
  return takeApart(graph, graph.add('Concat', rows, { axis: 1 }), shape)
}

/** Numbers of unknowns and of columns of a system. */
export interface SystemShape {
  readonly unknowns: number
  /** More than `unknowns`. */
  readonly width: number
}

/** Row j has L^-1 up to the diagonal, then the pivot, then the rest of D L^T, then L^-1 b. */
function takeApart(graph: OnnxGraphBuilder, rows: GraphValue, shape: SystemShape): Eliminated {
  const { unknowns: d, width } = shape
  const matrix = (isOne: (row: number, column: number) => boolean): GraphValue =>
    graph.constant(
      [1, d, width],
      Array.from({ length: d * width }, (_, at) =>
        isOne(Math.floor(at / width), at % width) ? 1 : 0,
      ),
    )
  const identity = matrix((row, column) => row === column)
  const below = graph.add('Mul', [rows, matrix((row, column) => column < row)])
  const lower = graph.add('Add', [below, identity])
  const diagonal = graph.add('Mul', [rows, identity])
  return {
    inverse: graph.transpose(lower, [0, 2, 1]),
    pivots: graph.add('ReduceSum', [diagonal, graph.integers(2)]),
    forward: graph.slice(rows, 2, d, d + 1),
  }
}

/** A row, [1, 1, width], that is 1 in column j and else 0. */
export function unitRow(graph: OnnxGraphBuilder, width: number, j: number): GraphValue {
  return graph.constant(
    [1, 1, width],
    Array.from({ length: width }, (_, i) => (i === j ? 1 : 0)),
  )
}
