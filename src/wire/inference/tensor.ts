import { WeirError } from '../../core/errors.ts'
import type { FrameWriter } from '../frame-writer.ts'

/**
 * Tensors in INFER frames: the datatypes of the Open Inference Protocol, elements row-major and little-endian.
 *
 *   +-----------+----------+---------+------------+------------+----------+
 *   | name      | datatype | rank u8 | sizes      | length u32 | elements |
 *   | u16 + ... | u8       |         | rank x u32 |            |          |
 *   +-----------+----------+---------+------------+------------+----------+
 *
 * An element of BYTES is its length as uint32 and its bytes; BOOL takes a byte.
 */

/** Number on the wire and bytes of an element, by datatype; 0 bytes where elements have their own length. */
export const DATATYPES = {
  BOOL: { code: 1, bytes: 1 },
  UINT8: { code: 2, bytes: 1 },
  UINT16: { code: 3, bytes: 2 },
  UINT32: { code: 4, bytes: 4 },
  UINT64: { code: 5, bytes: 8 },
  INT8: { code: 6, bytes: 1 },
  INT16: { code: 7, bytes: 2 },
  INT32: { code: 8, bytes: 4 },
  INT64: { code: 9, bytes: 8 },
  FP16: { code: 10, bytes: 2 },
  FP32: { code: 11, bytes: 4 },
  FP64: { code: 12, bytes: 8 },
  BYTES: { code: 13, bytes: 0 },
  BF16: { code: 14, bytes: 2 },
} as const

/** Name of a datatype. */
export type Datatype = keyof typeof DATATYPES

/** A named tensor with its elements as bytes. */
export interface RawTensor {
  readonly name: string
  readonly datatype: Datatype
  readonly shape: readonly number[]
  readonly data: Uint8Array
}

/** What a cursor over a frame offers to read tensors. */
export interface TensorCursor {
  readonly bytes: Uint8Array
  /** Moves over `count` bytes and returns where they start. Throws PROTOCOL_ERROR. */
  take(count: number): number
  uint16(): number
  uint32(): number
  /** Text after its length as uint16. */
  text(): string
}

/** Most dimensions of a tensor. */
const MAX_RANK = 16
/** Most tensors of one request or answer. */
export const MAX_TENSORS = 256

const NAMES: readonly (Datatype | undefined)[] = namesByCode()

function namesByCode(): (Datatype | undefined)[] {
  const names: (Datatype | undefined)[] = []
  for (const name of Object.keys(DATATYPES) as Datatype[]) names[DATATYPES[name].code] = name
  return names
}

/** Whether `text` names a datatype. */
export function isDatatype(text: unknown): text is Datatype {
  return typeof text === 'string' && Object.hasOwn(DATATYPES, text)
}

/** Elements of a tensor of this shape. Throws INVALID_ARGUMENT for a size that is none. */
export function countOf(shape: readonly number[], name: string): number {
  let count = 1
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0) {
      throw invalid(name, `${size} in the shape is no size; sizes are whole numbers from 0`)
    }
    count *= size
  }
  if (!Number.isSafeInteger(count)) throw invalid(name, 'the shape has too many elements')
  return count
}

/** The error of a tensor. Its text is made where it is thrown: to make one for each tensor costs more than the checks. */
function invalid(name: string, why: string): WeirError {
  return new WeirError('INVALID_ARGUMENT', `tensor "${name}": ${why}`)
}

/** Checks that the bytes are those of the shape. Throws INVALID_ARGUMENT. */
export function requireElements({ name, datatype, shape, data }: RawTensor): void {
  const count = countOf(shape, name)
  const each = DATATYPES[datatype].bytes
  if (each === 0) {
    requireStrings(data, count, name)
    return
  }
  if (data.length === count * each) return
  throw invalid(
    name,
    `${count} elements of ${datatype} take ${count * each} bytes, not ${data.length}`,
  )
}

function requireStrings(data: Uint8Array, count: number, name: string): void {
  const view = new DataView(data.buffer, data.byteOffset, data.length)
  let at = 0
  let strings = 0
  for (; at + 4 <= data.length; strings++) at += 4 + view.getUint32(at, true)
  if (at === data.length && strings === count) return
  throw invalid(name, `the data is not ${count} strings, each after its length as uint32`)
}

/** Appends the number of tensors and the tensors. Throws INVALID_ARGUMENT. */
export function writeTensors(writer: FrameWriter, tensors: readonly RawTensor[]): void {
  if (tensors.length > MAX_TENSORS) {
    const message = `${tensors.length} tensors; at most ${MAX_TENSORS} are sent together`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  writer.uint16(tensors.length)
  for (const tensor of tensors) {
    requireElements(tensor)
    const { name, shape } = tensor
    if (shape.length > MAX_RANK) {
      throw invalid(name, `${shape.length} dimensions; at most ${MAX_RANK} are sent`)
    }
    writer.key(tensor.name)
    writer.uint8(DATATYPES[tensor.datatype].code)
    writer.uint8(tensor.shape.length)
    for (const size of tensor.shape) writer.uint32(size)
    writer.uint32(tensor.data.length)
    writer.raw(tensor.data)
  }
}

/** Reads tensors, whose elements stay in the frame. Throws PROTOCOL_ERROR, INVALID_ARGUMENT. */
export function readTensors(cursor: TensorCursor): RawTensor[] {
  const count = cursor.uint16()
  if (count > MAX_TENSORS) throw broken(`${count} tensors; at most ${MAX_TENSORS} are read`)
  const tensors: RawTensor[] = []
  for (let i = 0; i < count; i++) tensors.push(readTensor(cursor))
  return tensors
}

/** The tensors with copies of their elements. */
export function copyTensors(tensors: readonly RawTensor[]): RawTensor[] {
  return tensors.map(({ name, datatype, shape, data }) => ({
    name,
    datatype,
    shape,
    // `slice` of a Buffer would be another view.
    data: new Uint8Array(data),
  }))
}

function readTensor(cursor: TensorCursor): RawTensor {
  const name = cursor.text()
  const code = cursor.bytes[cursor.take(1)]!
  const datatype = NAMES[code]
  if (datatype === undefined) throw broken(`tensor "${name}" has the unknown datatype ${code}`)
  const rank = cursor.bytes[cursor.take(1)]!
  if (rank > MAX_RANK) throw broken(`tensor "${name}" has ${rank} dimensions`)
  const shape: number[] = []
  for (let i = 0; i < rank; i++) shape.push(cursor.uint32())
  const length = cursor.uint32()
  const at = cursor.take(length)
  const tensor = { name, datatype, shape, data: cursor.bytes.subarray(at, at + length) }
  requireElements(tensor)
  return tensor
}

function broken(why: string): WeirError {
  return new WeirError('PROTOCOL_ERROR', `an INFER frame is malformed: ${why}`)
}
