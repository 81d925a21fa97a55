import { WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import type { ModelSignature, TensorSpec } from '../port/signature.ts'
import { DATATYPE_BYTES, type Tensor } from '../port/tensor.ts'
import type { CarriedTensor, SequenceSettings } from './settings.ts'

/**
 * Checks that a model has the inputs and outputs that it is to carry, and that they fit. Throws INVALID_ARGUMENT.
 */
export function requireCarried(
  { inputs, outputs }: ModelSignature,
  sequence: SequenceSettings | undefined,
): void {
  for (const { input, output, shape } of sequence?.carried ?? []) {
    const into = named(inputs, input, 'input')
    const from = named(outputs, output, 'output')
    const key = `sequence.state.${input}`
    if (into.datatype !== from.datatype || into.datatype === 'BYTES') {
      const message = `${key}: the input is ${into.datatype} and the output ${output} is ${from.datatype}; a state is numbers of one datatype`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    if (!fits(shape ?? startShape(into), into.shape)) {
      const message = `${key}: the shape [${shape}] does not fit the input, which is [${into.shape}]`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
  }
}

/** What a sequence carries before its first request: zeros. */
export function startTensors(
  { inputs }: ModelSignature,
  carried: readonly CarriedTensor[],
): readonly Tensor[] {
  return carried.map(({ input, shape: given }) => {
    const spec = named(inputs, input, 'input')
    const shape = given ?? startShape(spec)
    const elements = shape.reduce((product, size) => product * size, 1)
    const data = new Uint8Array(elements * DATATYPE_BYTES[spec.datatype])
    return { name: input, datatype: spec.datatype, shape, data }
  })
}

/** The outputs of a run, divided into those for the client and what the sequence carries on, as inputs. */
export function dividedOutputs(outputs: readonly Tensor[], carried: readonly CarriedTensor[]) {
  const next = carried.map(({ input, output }) => ({
    ...outputs.find(({ name }) => name === output)!,
    name: input,
  }))
  const isCarried = new Set(carried.map(({ output }) => output))
  return { next, answered: outputs.filter(({ name }) => !isCarried.has(name)) }
}

/** A dimension of any size is 1 for one client. */
function startShape({ shape }: TensorSpec): readonly number[] {
  return shape.map((size) => (size === -1 ? 1 : size))
}

function fits(shape: readonly number[], wanted: readonly number[]): boolean {
  if (shape.length !== wanted.length) return false
  return wanted.every((size, axis) => size === -1 || size === shape[axis])
}

function named(specs: readonly TensorSpec[], name: string, what: 'input' | 'output'): TensorSpec {
  const spec = specs.find((one) => one.name === name)
  if (spec !== undefined) return spec
  const known = specs.map((one) => one.name)
  const nearest = nearestWord(name, known)
  const hint =
    nearest === undefined ? `the ${what}s are ${known.join(', ')}` : `did you mean "${nearest}"?`
  const message = `sequence.state: the model has no ${what} "${name}"; ${hint}`
  throw new WeirError('INVALID_ARGUMENT', message)
}
