import { withItems } from './axis-rules.ts'
import type { Operation, Rule } from './operation.ts'
import { type Size, sizeOf } from './size.ts'
import type { TracedTensor } from './traced-value.ts'

/** Trees, linear models and support vectors on rows: `[items, features]`. Outputs have as many rows. */
const ofRows =
  (widths: (operation: Operation, output: number) => readonly Size[]): Rule =>
  (operation) => {
    operation.requireNoCounts()
    for (let i = 1; i < operation.inputs.length; i++) operation.fixed(i)
    const shape = operation.shape(0)
    const { items } = operation.input(0)
    const isRow = shape.length === 2 && (items === undefined || items.axis === 0)
    if (!isRow) throw operation.over(items?.axis ?? 0)
    return operation.node.outputs.map(
      (_, i): TracedTensor => withItems([shape[0]!, ...widths(operation, i)], items),
    )
  }

/** A label and the scores of each row. */
export const classifier: Rule = ofRows((operation, output) =>
  output === 0 ? [] : [operation.anySize()],
)

/** The targets of each row. */
export const regressor: Rule = ofRows((operation) => {
  const targets = operation.number('n_targets', operation.number('targets', 1))
  return [sizeOf(targets)]
})

/** Features of each row, as many as before. */
export const rowFeatures: Rule = ofRows((operation) => [operation.shape(0)[1]!])

/** Features of each row, as many as the operation makes. */
export const madeFeatures: Rule = ofRows((operation) => [operation.anySize()])

/** A map for each row. */
export const rowMaps: Rule = ofRows(() => [])
