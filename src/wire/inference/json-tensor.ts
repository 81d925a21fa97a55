import { requireArgument, WeirError } from '../../core/errors.ts'
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

const isNumber = (value: unknown): boolean => typeof value === 'number'

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

/** Whole numbers of 64 bits; JSON holds 53 of them. */
function wide(isSigned: boolean): ElementCodec {
  return {
    bytes: 8,
    wanted: `a whole number of at most 53 bits${isSigned ? '' : ' from 0'}`,
    accepts: (value) => Number.isSafeInteger(value) && (isSigned || (value as number) >= 0),
    write: (view, at, value) => view.setBigInt64(at, BigInt(value as number), true),
    read: (view, at) => Number(isSigned ? view.getBigInt64(at, true) : view.getBigUint64(at, true)),
  }
}

const CODECS: Partial<Record<Datatype, ElementCodec>> = {
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
  FP32: {
    bytes: 4,
    wanted: 'a number',
    accepts: isNumber,
    write: (view, at, value) => view.setFloat32(at, value as number, true),
    read: (view, at) => view.getFloat32(at, true),
  },
  FP64: {
    bytes: 8,
    wanted: 'a number',
    accepts: isNumber,
    write: (view, at, value) => view.setFloat64(at, value as number, true),
    read: (view, at) => view.getFloat64(at, true),
  },
}

/** The tensor with its elements as bytes. Throws INVALID_ARGUMENT, UNSUPPORTED. */
export function rawOfJson({ name, datatype, shape, data }: JsonTensor): RawTensor {
  const flat = data.flat(Number.POSITIVE_INFINITY)
  const count = countOf(shape, name)
  requireArgument(
    flat.length === count,
    `tensor "${name}": the shape [${shape.join(', ')}] has ${count} elements, the data ${flat.length}`,
  )
  if (datatype === 'BYTES') return { name, datatype, shape, data: bytesOfTexts(flat, name) }
  const codec = codecOf(datatype, name)
  const bytes = new Uint8Array(count * codec.bytes)
  const view = new DataView(bytes.buffer)
  flat.forEach((value, i) => {
    if (!codec.accepts(value)) throw wrongElement(name, codec.wanted, value)
    codec.write(view, i * codec.bytes, value)
  })
  return { name, datatype, shape, data: bytes }
}

/** The elements of a tensor as JSON has them, flat. Throws UNSUPPORTED for floats of 16 bits. */
export function jsonOfRaw(tensor: RawTensor): unknown[] {
  requireElements(tensor)
  const { name, datatype, data } = tensor
  if (datatype === 'BYTES') return textsOf(data)
  const codec = codecOf(datatype, name)
  const view = new DataView(data.buffer, data.byteOffset, data.length)
  return Array.from({ length: data.length / codec.bytes }, (_, i) =>
    codec.read(view, i * codec.bytes),
  )
}

function codecOf(datatype: Datatype, name: string): ElementCodec {
  const codec = CODECS[datatype]
  if (codec !== undefined) return codec
  throw new WeirError(
    'UNSUPPORTED',
    `tensor "${name}": ${datatype} has no form in JSON; send and ask for binary data`,
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

/** The texts of the elements of a BYTES tensor. */
export function textsOf(data: Uint8Array): string[] {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length)
  const texts: string[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32LE(at)
    texts.push(bytes.toString('utf8', at + 4, end))
    at = end
  }
  return texts
}

function wrongElement(name: string, wanted: string, value: unknown): WeirError {
  const shown = JSON.stringify(value)?.slice(0, 40)
  return new WeirError('INVALID_ARGUMENT', `tensor "${name}": ${shown} is not ${wanted}`)
}
