import { requireArgument } from '../../core/errors.ts'
import type { RunnerOptions } from '../port/runner.ts'
import type { ItemAxes, ModelSignature, TensorSpec } from '../port/signature.ts'

/** Why requests run alone where the settings say so. */
export const NOT_WANTED = 'its settings say batches: false'

/** The signature with other axes of the items. Throws INVALID_ARGUMENT for a tensor or an axis that it does not have. */
export function withItemAxes(signature: ModelSignature, axes: ItemAxes): ModelSignature {
  const tensors = [...signature.inputs, ...signature.outputs]
  for (const [name, axis] of Object.entries(axes)) {
    const tensor = tensors.find((one) => one.name === name)
    const known = tensors.map((one) => one.name).join(', ')
    requireArgument(tensor !== undefined, `item-axes has "${name}"; the tensors are ${known}`)
    requireArgument(
      axis === null || (axis >= 0 && axis < tensor.shape.length),
      `item-axes has axis ${axis} of "${name}", which has ${tensor.shape.length} axes`,
    )
  }
  const axisOf = (spec: TensorSpec): TensorSpec => {
    const axis = Object.hasOwn(axes, spec.name) ? axes[spec.name] : undefined
    return axis === undefined ? spec : { ...spec, itemAxis: axis }
  }
  return {
    ...signature,
    inputs: signature.inputs.map(axisOf),
    outputs: signature.outputs.map(axisOf),
  }
}

/**
 * The signature of a model that cannot be looked into, a module or one on another server: requests share a run where the
 * model or its settings say that rows are independent. Throws INVALID_ARGUMENT for wrong item axes.
 */
export function declaredSignature(
  signature: ModelSignature,
  { batches, itemAxes = {} }: Pick<RunnerOptions, 'batches' | 'itemAxes'>,
): ModelSignature {
  const given = withItemAxes(signature, itemAxes)
  if (batches === false) return { ...given, alone: NOT_WANTED }
  if (given.maxItems === 1) return { ...given, alone: 'it takes one item at a time' }
  if (given.inputs.every(({ itemAxis }) => itemAxis === null)) {
    return { ...given, alone: 'no input has an axis of items' }
  }
  if (batches === true || given.batches === true) return given
  const remedy = 'if they are, write "batches: true" into its settings'
  return { ...given, alone: `nothing says that its rows are independent; ${remedy}` }
}
