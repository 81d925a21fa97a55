import { BatchBuffer, itemsOf } from '../batches/batch-buffer.ts'
import type { LoadedModel } from '../port/runner.ts'
import { itemAxisOf, type TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'

/** The tensors of one item. */
export type Row = readonly Tensor[]

/** The rows of tensors along the axes of their items. Inputs without items are the same in each row. */
export function rowsOfTensors(
  tensors: readonly Tensor[],
  specs: readonly TensorSpec[],
  total: number,
): Row[] {
  return Array.from({ length: total }, (_, first) =>
    tensors.map((tensor, i) => itemsOf(tensor, specs[i]!, { first, items: 1, total })),
  )
}

/** One tensor for each of the specs: those of the rows one after the other. */
export function tensorsOfRows(
  rows: readonly Row[],
  specs: readonly TensorSpec[],
): readonly Tensor[] {
  return new BatchBuffer().gather(specs, rows)
}

/**
 * Runs a model whose rows are independent. Rows of equal sizes share a run: the sizes of a row follow from that row alone,
 * and so does what is answered for it, whatever comes with it.
 */
export async function runRows(
  model: Pick<LoadedModel, 'run'>,
  rows: readonly Row[],
  {
    inputs,
    outputs,
  }: { readonly inputs: readonly TensorSpec[]; readonly outputs: readonly TensorSpec[] },
): Promise<Row[]> {
  const groups = new Map<string, number[]>()
  rows.forEach((row, r) => {
    const sizes = sizesOf(row, inputs)
    const group = groups.get(sizes)
    if (group === undefined) groups.set(sizes, [r])
    else group.push(r)
  })
  const answers: Row[] = []
  for (const group of groups.values()) {
    const given = tensorsOfRows(
      group.map((r) => rows[r]!),
      inputs,
    )
    const answer = await model.run(given, group.length)
    const parts = rowsOfTensors(answer, outputs, group.length)
    group.forEach((r, i) => {
      answers[r] = parts[i]!
    })
  }
  return answers
}

/** All that must be equal within a run: sizes but for that of the items, and inputs without items. */
function sizesOf(row: Row, specs: readonly TensorSpec[]): string {
  return row
    .map(({ shape, data }, i) => {
      const axis = itemAxisOf(specs[i]!)
      const content = axis === null ? Buffer.from(data).toString('latin1') : ''
      return `${shape.filter((_, d) => d !== axis).join()}:${content}`
    })
    .join(';')
}
