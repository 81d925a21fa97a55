import { requireArgument, WeirError } from '../../core/errors.ts'
import {
  brainOfNumber,
  halfOfNumber,
  numberOfBrain,
  numberOfHalf,
} from '../../core/numbers/half-floats.ts'
import {
  BEYOND,
  exactNumber,
  FLOAT_WANTED,
  flatElements,
  floatOf,
  jsonOfFloat,
  stringifyExactly,
  textOfBytes,
} from './json-values.ts'
import { countOf, type Datatype, type RawTensor, requireElements } from './tensor.ts'

/** A tensor as JSON has it; its data is flat or nested, in row-major order. */
export interface JsonTensor {
  readonly name: string
  readonly datatype: Datatype
  readonly shape: readonly number[]
  readonly data: readonly unknown[]
}

/** How the elements of one datatype are written into and read from a view. */
interface ElementCodec {
  readonly bytes: number
  /** What an element must be, for messages. */
  readonly wanted: string
  accepts(value: unknown): boolean
  write(view: DataView, at: number, value: unknown): void
  read(view: DataView, at: number): unknown
}

function whole(
  bytes: 1 | 2 | 4,
  isSigned: boolean,
  [set, get]: readonly [
    (view: DataView, at: number, value: number) => void,
    (view: DataView, at: number) => number,
  ],
): ElementCodec {
  const least = isSigned ? -(2 ** (8 * bytes - 1)) : 0
  const most = isSigned ? 2 ** (8 * bytes - 1) - 1 : 2 ** (8 * bytes) - 1
  return {
    bytes,
    wanted: `a whole number from ${least} to ${most}`,
    accepts: (value) =>
      Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
    write: (view, at, value) => set(view, at, value as number),
    read: get,
  }
}

/** Whole numbers of 64 bits; those of more than 53 are BigInts here. */
function wide(isSigned: boolean): ElementCodec {
  const as = isSigned ? BigInt.asIntN : BigInt.asUintN
  return {
    bytes: 8,
    wanted: `a whole number of 64 bits${isSigned ? '' : ' from 0'}`,
    accepts: (value) => {
      if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) return false
      return as(64, BigInt(value as bigint)) === BigInt(value as bigint)
    },
    write: (view, at, value) => view.setBigInt64(at, BigInt(value as bigint), true),
    read: (view, at) =>
      exactNumber(isSigned ? view.getBigInt64(at, true) : view.getBigUint64(at, true)),
  }
}

/** Floats, by the number that is the first one beyond those of the type. */
function float(
  bytes: 2 | 4 | 8,
  beyond: number,
  [set, get]: readonly [
    (view: DataView, at: number, value: number) => void,
    (view: DataView, at: number) => number,
  ],
): ElementCodec {
  return {
    bytes,
    wanted: FLOAT_WANTED,
    accepts: (value) => floatOf(value, beyond) !== undefined,
    write: (view, at, value) => set(view, at, floatOf(value, beyond)!),
    read: (view, at) => jsonOfFloat(get(view, at)),
  }
}

const CODECS: Readonly<Record<Exclude<Datatype, 'BYTES'>, ElementCodec>> = {
  BOOL: {
    bytes: 1,
    wanted: 'true or false',
    accepts: (value) => typeof value === 'boolean',
    write: (view, at, value) => view.setUint8(at, value === true ? 1 : 0),
    read: (view, at) => view.getUint8(at) !== 0,
  },
  UINT8: whole(1, false, [(v, at, x) => v.setUint8(at, x), (v, at) => v.getUint8(at)]),
  UINT16: whole(2, false, [
    (v, at, x) => v.setUint16(at, x, true),
    (v, at) => v.getUint16(at, true),
  ]),
  UINT32: whole(4, false, [
    (v, at, x) => v.setUint32(at, x, true),
    (v, at) => v.getUint32(at, true),
  ]),
  INT8: whole(1, true, [(v, at, x) => v.setInt8(at, x), (v, at) => v.getInt8(at)]),
  INT16: whole(2, true, [(v, at, x) => v.setInt16(at, x, true), (v, at) => v.getInt16(at, true)]),
  INT32: whole(4, true, [(v, at, x) => v.setInt32(at, x, true), (v, at) => v.getInt32(at, true)]),
  INT64: wide(true),
  UINT64: wide(false),
  FP16: float(2, BEYOND.FP16, [
    (v, at, x) => v.setUint16(at, halfOfNumber(x), true),
    (v, at) => numberOfHalf(v.getUint16(at, true)),
  ]),
  BF16: float(2, BEYOND.BF16, [
    (v, at, x) => v.setUint16(at, brainOfNumber(x), true),
    (v, at) => numberOfBrain(v.getUint16(at, true)),
  ]),
  FP32: float(4, BEYOND.FP32, [
    (v, at, x) => v.setFloat32(at, x, true),
    (v, at) => v.getFloat32(at, true),
  ]),
  FP64: float(8, BEYOND.FP64, [
    (v, at, x) => v.setFloat64(at, x, true),
    (v, at) => v.getFloat64(at, true),
  ]),
}

/** The tensor with its elements as bytes. Throws INVALID_ARGUMENT. */
export function rawOfJson({ name, datatype, shape, data }: JsonTensor): RawTensor {
  const flat = flatElements(data, shape, name)
  const count = countOf(shape, name)
  requireArgument(
    flat.length === count,
    `tensor "${name}": the shape [${shape.join(', ')}] has ${count} elements, the data ${flat.length}`,
  )
  if (datatype === 'BYTES') return { name, datatype, shape, data: bytesOfTexts(flat, name) }
  const codec = CODECS[datatype]
  const bytes = new Uint8Array(count * codec.bytes)
  const view = new DataView(bytes.buffer)
  flat.forEach((value, i) => {
    if (!codec.accepts(value)) throw wrongElement(name, codec.wanted, value)
    codec.write(view, i * codec.bytes, value)
  })
  return { name, datatype, shape, data: bytes }
}

/**
 * The elements of a tensor as JSON has them, flat; `stringifyExactly` writes them. Throws UNSUPPORTED for texts that are no
 * UTF-8.
 */
export function jsonOfRaw(tensor: RawTensor): unknown[] {
  requireElements(tensor)
  const { name, datatype, data } = tensor
  if (datatype === 'BYTES') return textsOf(data, name)
  const codec = CODECS[datatype]
  const view = new DataView(data.buffer, data.byteOffset, data.length)
  return Array.from({ length: data.length / codec.bytes }, (_, i) =>
    codec.read(view, i * codec.bytes),
  )
}

function bytesOfTexts(values: readonly unknown[], name: string): Uint8Array {
  const parts = values.map((value) => {
    if (typeof value === 'string') return Buffer.from(value, 'utf8')
    throw wrongElement(name, 'a string', value)
  })
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4)
      length.writeUInt32LE(part.length)
      return [length, part]
    }),
  )
}

/** The texts of the elements of a BYTES tensor. Throws UNSUPPORTED for bytes that are no UTF-8. */
export function textsOf(data: Uint8Array, name: string): string[] {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length)
  const texts: string[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32LE(at)
    texts.push(textOfBytes(bytes.subarray(at + 4, end), name))
    at = end
  }
  return texts
}

function wrongElement(name: string, wanted: string, value: unknown): WeirError {
  const shown = stringifyExactly(value)?.slice(0, 40)
  return new WeirError('INVALID_ARGUMENT', `tensor "${name}": ${shown} is not ${wanted}`)
}
