import { requireArgument, WeirError } from '../../core/errors.ts'
import {
  kindOf,
  listOf,
  type OptionKind,
  oneOf,
  required,
  text,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { nested, type OptionShape } from '../../core/options/shape.ts'
import { QUERY, type QueryOptions } from '../model-reader.ts'
import type { InferAnswer } from './infer.ts'
import { DATATYPES, type Datatype, type RawTensor } from './tensor.ts'

/** Elements of a tensor; the class of an array names the datatype. */
export type TensorElements =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | readonly string[]
  | readonly boolean[]

/** Tensor for a model. */
export interface InputTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly data: TensorElements
  /** Needed only where the class of `data` does not say it: FP16 and BF16 as Uint16Array. */
  readonly datatype?: Datatype
}

/** Tensor that a model gave. FP16 and BF16 are their 16 bits, BYTES texts. */
export interface OutputTensor {
  readonly name: string
  readonly datatype: Datatype
  readonly shape: readonly number[]
  readonly data: TensorElements
}

/** Options of one run of a model. `deadlineMs` is by default the latency goal of the model. */
export interface InferOptions extends QueryOptions {
  /** Names of the wanted outputs. @default all */
  readonly outputs?: readonly string[]
}

/** The options of one run of a model. */
export const INFER: OptionShape<InferOptions> = { ...QUERY, outputs: listOf(text) }

/** The kind of the inputs of a model. Their elements are checked when they are written. */
export const INPUT_TENSORS: OptionKind<readonly InputTensor[]> = listOf(
  nested<InputTensor>({
    name: required(text),
    shape: required(listOf(wholeNumber({ min: 0 }))),
    data: required(kindOf<TensorElements>('a typed array, texts or booleans', isElements)),
    datatype: oneOf(...(Object.keys(DATATYPES) as Datatype[])),
  }),
)

function isElements(value: unknown): boolean {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))
}

/** Outputs of a model, the version that answered, and how the answer came about. */
export interface InferResult extends Omit<InferAnswer, 'outputs'> {
  readonly modelVersion: number
  readonly outputs: readonly OutputTensor[]
}

const CLASSES = [
  ['FP32', Float32Array],
  ['FP64', Float64Array],
  ['INT8', Int8Array],
  ['INT16', Int16Array],
  ['INT32', Int32Array],
  ['INT64', BigInt64Array],
  ['UINT8', Uint8Array],
  ['UINT16', Uint16Array],
  ['UINT32', Uint32Array],
  ['UINT64', BigUint64Array],
  ['FP16', Uint16Array],
  ['BF16', Uint16Array],
] as const

/** The tensor with its elements as bytes. Throws INVALID_ARGUMENT. */
export function rawTensorOf(tensor: InputTensor): RawTensor {
  const { name, shape, data } = tensor
  const datatype = tensor.datatype ?? datatypeOf(data)
  if (datatype === undefined) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `tensor "${name}": give a typed array, texts or booleans`,
    )
  }
  return { name, datatype, shape, data: bytesOf(tensor, datatype) }
}

function datatypeOf(data: TensorElements): Datatype | undefined {
  if (Array.isArray(data)) return typeof data[0] === 'boolean' ? 'BOOL' : 'BYTES'
  // Buffer is a Uint8Array, too.
  return CLASSES.find(([, Class]) => data instanceof Class)?.[0]
}

function bytesOf({ name, data }: InputTensor, datatype: Datatype): Uint8Array {
  if (!Array.isArray(data)) {
    const { buffer, byteOffset, byteLength } = data as Exclude<TensorElements, readonly unknown[]>
    return new Uint8Array(buffer, byteOffset, byteLength)
  }
  const values: readonly unknown[] = data
  if (datatype === 'BOOL') return Uint8Array.from(values, (value) => (value === true ? 1 : 0))
  requireArgument(
    datatype === 'BYTES' && values.every((value) => typeof value === 'string'),
    `tensor "${name}": ${datatype} needs a typed array`,
  )
  return bytesOfTexts(values as readonly string[])
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

function bytesOfTexts(texts: readonly string[]): Uint8Array {
  const parts = texts.map((text) => encoder.encode(text))
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + 4 + part.length, 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const part of parts) {
    view.setUint32(at, part.length, true)
    bytes.set(part, at + 4)
    at += 4 + part.length
  }
  return bytes
}

/** The tensor with its elements in an array of their class. */
export function outputTensorOf({ name, datatype, shape, data }: RawTensor): OutputTensor {
  return { name, datatype, shape, data: elementsOf(datatype, data) }
}

function elementsOf(datatype: Datatype, data: Uint8Array): TensorElements {
  if (datatype === 'BYTES') return textsOf(data)
  if (datatype === 'BOOL') return Array.from(data, (byte) => byte !== 0)
  const Class = CLASSES.find(([name]) => name === datatype)![1]
  // Answers are read into buffers of their own, which are not shared.
  const { buffer, byteOffset, length } = data as Uint8Array<ArrayBuffer>
  return new Class(buffer, byteOffset, length / DATATYPES[datatype].bytes)
}

function textsOf(data: Uint8Array): string[] {
  const view = new DataView(data.buffer, data.byteOffset, data.length)
  const texts: string[] = []
  for (let at = 0; at < data.length; ) {
    const length = view.getUint32(at, true)
    texts.push(decoder.decode(data.subarray(at + 4, at + 4 + length)))
    at += 4 + length
  }
  return texts
}
