import { messageOf } from '../../core/errors.ts'
import { readModelGraph } from '../onnx/graph.ts'
import { type Independence, independenceOf } from '../onnx/independence.ts'
import type { RunnerOptions } from '../port/runner.ts'
import type { ItemAxes, ModelSignature, TensorSpec } from '../port/signature.ts'
import { FileBytes } from './file-bytes.ts'
import { NOT_WANTED, withItemAxes } from './item-axes.ts'

type Tensors = Pick<ModelSignature, 'inputs' | 'outputs'>

/**
 * The signature of an ONNX file: requests may share a run where its graph shows that rows are independent, or where
 * `batches: true` says so. Throws INVALID_ARGUMENT for item axes that the model does not have.
 */
export function onnxSignature(
  tensors: Tensors,
  file: string,
  { batches, itemAxes = {} }: Pick<RunnerOptions, 'batches' | 'itemAxes'>,
): ModelSignature {
  const given = withItemAxes(firstAxes(tensors), itemAxes)
  if (batches === false) return { ...given, alone: NOT_WANTED }
  const found = independenceOfFile(file, inputAxes(tensors, itemAxes))
  if (found.kind === 'shown')
    return withItemAxes(shownAxes(tensors, found.outputs), { ...found.inputs, ...itemAxes })
  if (batches === true) return declared(tensors, found.inputs, itemAxes)
  return { ...given, alone: found.why }
}

function independenceOfFile(file: string, axes: ItemAxes): Independence {
  try {
    using bytes = new FileBytes(file)
    return independenceOf(readModelGraph(bytes), axes)
  } catch (error) {
    return { kind: 'unknown', why: `its graph cannot be read: ${messageOf(error)}`, inputs: {} }
  }
}

/** The axes that someone has set, of inputs only: those of the outputs follow from the graph. */
function inputAxes({ inputs }: Tensors, axes: ItemAxes): ItemAxes {
  return Object.fromEntries(
    Object.entries(axes).filter(([name]) => inputs.some((input) => input.name === name)),
  )
}

/** Items along the first dimension where it is free. */
function firstAxes({ inputs, outputs }: Tensors): ModelSignature {
  const axisOf = (spec: TensorSpec): TensorSpec => ({
    ...spec,
    itemAxis: spec.shape[0] === -1 ? 0 : null,
  })
  return { inputs: inputs.map(axisOf), outputs: outputs.map(axisOf) }
}

/** Outputs with the axes that were found, whose size is free whatever the file says. */
function shownAxes({ inputs, outputs }: Tensors, axes: ItemAxes): ModelSignature {
  const found = outputs.map((spec) => {
    const axis = axes[spec.name] ?? null
    return { ...spec, itemAxis: axis, shape: spec.shape.map((size, d) => (d === axis ? -1 : size)) }
  })
  return { inputs, outputs: found }
}

/** Rows that are independent because someone says so: every output has them along its first axis, unless set. */
function declared(tensors: Tensors, inputs: ItemAxes, given: ItemAxes): ModelSignature {
  const first = firstAxes(tensors)
  const outputs = first.outputs.map((spec) => ({
    ...spec,
    itemAxis: spec.shape.length > 0 ? 0 : null,
  }))
  return withItemAxes({ ...first, outputs }, { ...inputs, ...given })
}
