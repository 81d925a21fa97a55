import { brainOfNumber, halfOfNumber } from '../../core/formats/half-floats.ts'
import { type Random, seededRandom } from '../../core/random.ts'
import { itemAxisOf, type ModelSignature, type TensorSpec } from '../port/signature.ts'
import { DATATYPE_BYTES, type Tensor } from '../port/tensor.ts'

/** A request of a probe. */
export interface ProbeRequest {
  readonly inputs: readonly Tensor[]
  readonly rows: number
}

/** How the requests of a probe differ: their rows, and how large their numbers are. */
export interface ProbePlan {
  readonly rows: number
  /** Factor of floats: a model that looks at the largest row of a batch shows it when one is large. */
  readonly scale: number
}

/**
 * Requests of random numbers that may share a run: sizes that a request chooses are `free`, and inputs without items are
 * equal. The same seed gives the same requests.
 */
export function probeRequests(
  { inputs }: ModelSignature,
  plans: readonly ProbePlan[],
  { free, seed }: { readonly free: number; readonly seed: number },
): ProbeRequest[] {
  const random = seededRandom(seed)
  const shared = new Map<string, Tensor>()
  return plans.map((plan) => ({
    rows: plan.rows,
    inputs: inputs.map((spec) => {
      const known = shared.get(spec.name)
      if (known !== undefined) return known
      const tensor = randomTensor(spec, plan, { free, random })
      if (itemAxisOf(spec) === null) shared.set(spec.name, tensor)
      return tensor
    }),
  }))
}

/** Requests that are like a known one, with its rows again and again and other numbers where it has floats. */
export function requestsLike(
  signature: ModelSignature,
  sample: readonly Tensor[],
  plans: readonly ProbePlan[],
): ProbeRequest[] {
  return plans.map(({ rows, scale }, p) => ({
    rows,
    inputs: signature.inputs.map((spec, i) => {
      const tensor = sample[i]!
      const axis = itemAxisOf(spec)
      return axis === null ? tensor : variantOf(tensor, axis, { rows, scale: scale * (1 + p / 7) })
    }),
  }))
}

function variantOf(tensor: Tensor, axis: number, { rows, scale }: ProbePlan): Tensor {
  const { shape, datatype, data } = tensor
  const own = shape[axis]!
  const outer = shape.slice(0, axis).reduce((product, size) => product * size, 1)
  const block = data.length / outer
  const row = block / own
  const whole = shape.map((size, d) => (d === axis ? rows : size))
  if (datatype === 'BYTES' || own === 0) return own === rows ? tensor : { ...tensor, shape: whole }
  const copy = new Uint8Array(outer * rows * row)
  for (let b = 0; b < outer; b++) {
    for (let r = 0; r < rows; r++) {
      const from = b * block + (r % own) * row
      copy.set(data.subarray(from, from + row), (b * rows + r) * row)
    }
  }
  scaleFloats(datatype, copy, scale)
  return { ...tensor, shape: whole, data: copy }
}

function scaleFloats(datatype: Tensor['datatype'], data: Uint8Array, scale: number): void {
  const { buffer, length } = data
  const numbers =
    datatype === 'FP32'
      ? new Float32Array(buffer as ArrayBuffer, 0, length / 4)
      : datatype === 'FP64'
        ? new Float64Array(buffer as ArrayBuffer, 0, length / 8)
        : []
  numbers.forEach((number, i) => {
    numbers[i] = number * scale
  })
}

function randomTensor(
  spec: TensorSpec,
  { rows, scale }: ProbePlan,
  { free, random }: { readonly free: number; readonly random: Random },
): Tensor {
  const axis = itemAxisOf(spec)
  const shape = spec.shape.map((size, d) => (d === axis ? rows : size === -1 ? free : size))
  const count = shape.reduce((product, size) => product * size, 1)
  const { name, datatype } = spec
  if (datatype === 'BYTES') return { name, datatype, shape, data: randomTexts(count, random) }
  const bytes = DATATYPE_BYTES[datatype]
  const data = new Uint8Array(count * bytes)
  const view = new DataView(data.buffer)
  for (let i = 0; i < count; i++) writeRandom(view, i * bytes, datatype, { scale, random })
  return { name, datatype, shape, data }
}

function writeRandom(
  view: DataView,
  at: number,
  datatype: Exclude<Tensor['datatype'], 'BYTES'>,
  { scale, random }: { readonly scale: number; readonly random: Random },
): void {
  const number = random.normal() * scale
  if (datatype === 'FP32') view.setFloat32(at, number, true)
  else if (datatype === 'FP64') view.setFloat64(at, number, true)
  else if (datatype === 'FP16') view.setUint16(at, halfOfNumber(number), true)
  else if (datatype === 'BF16') view.setUint16(at, brainOfNumber(number), true)
  // Whole numbers are places of tables, classes or lengths: 0 and 1 are the only ones that most models take.
  else view.setUint8(at, random.below(2))
}

function randomTexts(count: number, random: Random): Uint8Array {
  const data = new Uint8Array(count * 5)
  const view = new DataView(data.buffer)
  for (let i = 0; i < count; i++) {
    view.setUint32(i * 5, 1, true)
    data[i * 5 + 4] = 0x61 + random.below(26)
  }
  return data
}
