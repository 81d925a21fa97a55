import { requireArgument, WeirError } from '../../core/errors.ts'
import { allFinite } from '../../core/numbers/all-finite.ts'
import {
  brainOfNumber,
  halfOfNumber,
  numberOfBrain,
  numberOfHalf,
} from '../../core/numbers/half-floats.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import {
  BEYOND,
  digitsOf,
  exactNumber,
  FLOAT_WANTED,
  flatElements,
  floatOf,
  jsonOfFloat,
  stringifyExactly,
  textOfBytes,
} from '../../wire/inference/json-values.ts'
import type { InputContent } from '../../wire/inference/models.ts'
import {
  type Datatype,
  isDatatype,
  type RawTensor,
  requireElements,
} from '../../wire/inference/tensor.ts'

export { type Datatype, isDatatype }

/** Elements of a tensor: numbers, 64-bit numbers, or byte strings as text. */
export type TensorData = readonly boolean[] | readonly string[] | readonly number[] | NumberArray

/** A named tensor in row-major order. */
export interface Tensor {
  readonly name: string
  readonly datatype: Datatype
  readonly shape: readonly number[]
  readonly data: TensorData
}

/** A tensor that arrived as bytes: its elements are read when someone asks for them. */
export class BytesTensor implements Tensor {
  readonly name: string
  readonly datatype: Datatype
  readonly shape: readonly number[]
  readonly bytes: Uint8Array
  private elements: TensorData | undefined

  constructor({ name, datatype, shape, data }: RawTensor) {
    this.name = name
    this.datatype = datatype
    this.shape = shape
    this.bytes = data
  }

  get data(): TensorData {
    const { name, datatype, shape, bytes } = this
    this.elements ??= CODECS[datatype].fromBytes(bufferOf(bytes), elementsOf(shape, name), name)
    return this.elements
  }
}

/** Name, datatype and shape of a tensor of a model; -1 is a dimension of any size. */
export interface TensorMetadata {
  readonly name: string
  readonly datatype: Datatype
  readonly shape: readonly number[]
  /** A request may leave the input out. @default false */
  readonly isOptional?: boolean
  /** As \`TensorSignature.itemAxis\`. */
  readonly itemAxis?: number | undefined
  /** As `TensorSignature.takes`. */
  readonly takes?: InputContent | undefined
}

/** Elements of a numeric datatype. Floats of 16 bits are their bits. */
type NumberArray =
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array

/** How one datatype is read and written; binary data is little-endian. */
interface DatatypeCodec {
  fromJson(values: readonly unknown[], name: string): TensorData
  fromBytes(bytes: Buffer, count: number, name: string): TensorData
  toBytes(data: TensorData): Buffer
}

const LENGTH_BYTES = 4

const BOOL: DatatypeCodec = {
  fromJson: (values, name) =>
    values.map((value) => {
      if (typeof value === 'boolean') return value
      throw wrongElement(name, 'true or false', value)
    }),
  fromBytes: (bytes, count, name) => Array.from(exactly(bytes, count, name), (byte) => byte !== 0),
  toBytes: (data) => Buffer.from((data as readonly boolean[]).map(Number)),
}

/** Class of an array of numbers, with the range of its elements. */
interface NumberClass {
  readonly Class: new (buffer: ArrayBuffer) => NumberArray
  readonly bytes: number
  readonly least: number
  readonly most: number
}

/** Whole numbers of up to 32 bits. */
function whole({ Class, bytes, least, most }: NumberClass): DatatypeCodec {
  const wanted = `a whole number from ${least} to ${most}`
  return {
    fromJson: (values, name) => {
      const array = new Class(new ArrayBuffer(values.length * bytes))
      values.forEach((value, i) => {
        const isInRange = (value as number) >= least && (value as number) <= most
        if (!Number.isSafeInteger(value) || !isInRange) throw wrongElement(name, wanted, value)
        array[i] = value as never
      })
      return array
    },
    fromBytes: (given, count, name) => new Class(aligned(exactly(given, count * bytes, name))),
    toBytes: (data) => bytesOf(data as NumberArray),
  }
}

/** Whole numbers of 64 bits: those of more than 53 are BigInts, as `parseExactly` reads them. */
function wide(Class: typeof BigInt64Array | typeof BigUint64Array): DatatypeCodec {
  return {
    fromJson: (values, name) => {
      const array = new Class(values.length)
      values.forEach((value, i) => {
        const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value)
        if (isWhole) array[i] = BigInt(value as bigint)
        if (!isWhole || array[i] !== BigInt(value as bigint)) {
          throw wrongElement(name, 'a whole number of 64 bits', value)
        }
      })
      return array
    },
    fromBytes: (given, count, name) => new Class(aligned(exactly(given, count * 8, name))),
    toBytes: (data) => bytesOf(data as NumberArray),
  }
}

function float(Class: typeof Float32Array | typeof Float64Array, beyond: number): DatatypeCodec {
  const { BYTES_PER_ELEMENT: bytes } = Class
  return {
    fromJson: (values, name) => {
      const array = new Class(values.length)
      for (let i = 0; i < values.length; i++) {
        const value = floatOf(values[i], beyond)
        if (value === undefined) throw noFloat(name, values[i], bytes)
        array[i] = value
      }
      return array
    },
    fromBytes: (given, count, name) => new Class(aligned(exactly(given, count * bytes, name))),
    toBytes: (data) => bytesOf(data as NumberArray),
  }
}

/** Floats of 16 bits, which are numbers in JSON. */
function half(bitsOf: (number: number) => number, beyond: number): DatatypeCodec {
  return {
    fromJson: (values, name) =>
      Uint16Array.from(values, (given) => {
        const value = floatOf(given, beyond)
        if (value === undefined) throw noFloat(name, given, 2)
        return bitsOf(value)
      }),
    fromBytes: (given, count, name) => new Uint16Array(aligned(exactly(given, count * 2, name))),
    toBytes: (data) => bytesOf(data as NumberArray),
  }
}

const BYTES: DatatypeCodec = {
  fromJson: (values, name) =>
    values.map((value) => {
      if (typeof value === 'string') return value
      throw wrongElement(name, 'a string', value)
    }),
  fromBytes: stringsOf,
  toBytes: (data) =>
    Buffer.concat(
      (data as readonly string[]).flatMap((text) => {
        const bytes = Buffer.from(text, 'utf8')
        const length = Buffer.alloc(LENGTH_BYTES)
        length.writeUInt32LE(bytes.length)
        return [length, bytes]
      }),
    ),
}

const CODECS: Readonly<Record<Datatype, DatatypeCodec>> = {
  BOOL,
  INT8: whole({ Class: Int8Array, bytes: 1, least: -128, most: 127 }),
  INT16: whole({ Class: Int16Array, bytes: 2, least: -32_768, most: 32_767 }),
  INT32: whole({ Class: Int32Array, bytes: 4, least: -(2 ** 31), most: 2 ** 31 - 1 }),
  INT64: wide(BigInt64Array),
  UINT8: whole({ Class: Uint8Array, bytes: 1, least: 0, most: 255 }),
  UINT16: whole({ Class: Uint16Array, bytes: 2, least: 0, most: 65_535 }),
  UINT32: whole({ Class: Uint32Array, bytes: 4, least: 0, most: 2 ** 32 - 1 }),
  UINT64: wide(BigUint64Array),
  FP16: half(halfOfNumber, BEYOND.FP16),
  BF16: half(brainOfNumber, BEYOND.BF16),
  FP32: float(Float32Array, BEYOND.FP32),
  FP64: float(Float64Array, BEYOND.FP64),
  BYTES,
}

/** Most elements of one tensor: a body has no more bytes. `input-bytes` and `output-bytes` of the model say what it takes. */
const MAX_ELEMENTS = MAX_FRAME_BYTES

/** Most dimensions of one tensor. */
const MAX_DIMENSIONS = 32

/** Number of elements of a shape. Throws INVALID_ARGUMENT for a shape that is none. */
export function elementsOf(shape: readonly unknown[], name: string): number {
  if (shape.length > MAX_DIMENSIONS) throw invalid(name, `more than ${MAX_DIMENSIONS} dimensions`)
  let count = 1
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || (size as number) < 0) {
      const shown = JSON.stringify(size)
      throw invalid(name, `the shape holds ${shown}; sizes are whole numbers from 0`)
    }
    count *= size as number
  }
  if (count > MAX_ELEMENTS) throw invalid(name, `more than ${MAX_ELEMENTS} elements`)
  return count
}

/** The elements of JSON, flat or nested. Throws INVALID_ARGUMENT. */
export function dataOfJson(tensor: TensorMetadata, values: readonly unknown[]): TensorData {
  const { name, datatype, shape } = tensor
  const count = elementsOf(shape, name)
  const flat = flatElements(values, shape, name)
  if (flat.length === count) return CODECS[datatype].fromJson(flat, name)
  throw invalid(
    name,
    `the shape [${shape.join(', ')}] has ${count} elements, the data ${flat.length}`,
  )
}

/** The tensor of raw bytes, which it refers to. Throws INVALID_ARGUMENT when there are too few or too many. */
export function tensorOfBytes(metadata: TensorMetadata, data: Uint8Array): BytesTensor {
  const { name, datatype, shape } = metadata
  elementsOf(shape, name)
  const raw = { name, datatype, shape, data }
  requireElements(raw)
  return new BytesTensor(raw)
}

/** The raw bytes of a tensor's elements. */
export function bytesOfData(tensor: Tensor): Uint8Array {
  return tensor instanceof BytesTensor ? tensor.bytes : CODECS[tensor.datatype].toBytes(tensor.data)
}

/** The tensor with its elements as bytes. */
export function rawTensorOf(tensor: Tensor): RawTensor {
  const { name, datatype, shape } = tensor
  return { name, datatype, shape, data: bytesOfData(tensor) }
}

/** The elements as JSON has them. */
export function jsonOfData({ datatype, data }: Pick<Tensor, 'datatype' | 'data'>): unknown[] {
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    return Array.from<bigint, unknown>(data as BigInt64Array, jsonOfWide)
  }
  if (datatype === 'FP16')
    return Array.from(data as Uint16Array, (bits) => jsonOfFloat(numberOfHalf(bits)))
  if (datatype === 'BF16')
    return Array.from(data as Uint16Array, (bits) => jsonOfFloat(numberOfBrain(bits)))
  const isOdd =
    (data instanceof Float32Array && !allFinite(data)) ||
    (data instanceof Float64Array && !data.every(Number.isFinite))
  if (isOdd) return Array.from(data as Float64Array, jsonOfFloat)
  return Array.from<unknown>(data)
}

function jsonOfWide(value: bigint): unknown {
  const number = exactNumber(value)
  return typeof number === 'bigint' ? digitsOf(number) : number
}

function stringsOf(bytes: Buffer, count: number, name: string): readonly string[] {
  const texts: string[] = []
  let at = 0
  while (at < bytes.length) {
    const from = at + LENGTH_BYTES
    const to = from > bytes.length ? Number.NaN : from + bytes.readUInt32LE(at)
    // Not a number where the length is cut off.
    if (!(to <= bytes.length)) {
      throw new WeirError(
        'INVALID_ARGUMENT',
        `tensor "${name}": string ${texts.length} ends after the data`,
      )
    }
    texts.push(textOfBytes(bytes.subarray(from, to), name))
    at = to
  }
  requireArgument(
    texts.length === count,
    `tensor "${name}": the shape has ${count} elements, the data ${texts.length} strings`,
  )
  return texts
}

function exactly(bytes: Buffer, length: number, name: string): Buffer {
  if (bytes.length === length) return bytes
  throw invalid(name, `the shape needs ${length} bytes of data, not ${bytes.length}`)
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** The bytes at the start of a buffer of their own: typed arrays need an aligned start. */
function aligned(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}

function bytesOf(data: NumberArray): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
}

function wrongElement(name: string, wanted: string, value: unknown): WeirError {
  return invalid(name, `${stringifyExactly(value)?.slice(0, 40)} is not ${wanted}`)
}

function noFloat(name: string, value: unknown, bytes: number): WeirError {
  return typeof value === 'number'
    ? invalid(name, `a number is too large for ${bytes * 8} bits`)
    : wrongElement(name, FLOAT_WANTED, value)
}

/** The error of a tensor, whose text is made where it is thrown: most tensors have none. */
function invalid(name: string, why: string): WeirError {
  return new WeirError('INVALID_ARGUMENT', `tensor "${name}": ${why}`)
}
