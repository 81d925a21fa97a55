import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { copierOf, isKeptDecoded, type Serializer } from '../../core/serializer.ts'
import { ListValue } from './list.ts'

/**
 * The value of an entry. Primitives that the serializer keeps exactly stay decoded. Everything else is
 * encoded bytes, a list, or an object that only its handle touches.
 */
export type EntryValue = undefined | number | string | boolean | Uint8Array | ListValue | LiveObject

/** A decoded object that never leaves its handle: callers get and give copies. */
export class LiveObject {
  object: unknown
  /** About how many bytes of heap the object takes. */
  readonly bytes: number

  constructor(object: unknown, bytes: number) {
    this.object = object
    this.bytes = bytes
  }
}

/** About how many bytes of heap a value takes; of a list, those that were counted last. */
export function sizeOfValue(value: EntryValue): number {
  switch (typeof value) {
    case 'undefined':
    case 'boolean':
    case 'number':
      return 0
    case 'string':
      return 24 + value.length
    default:
      // Empty ones are one object.
      if (value instanceof Uint8Array) return value.length === 0 ? 0 : 120 + value.length
      if (value instanceof ListValue) return value.counted
      return 40 + value.bytes
  }
}

/**
 * The form of `value` in memory: the primitive itself where the serializer gives back exactly the same
 * one, else a copy, else its encoded bytes. So memory shares no object with callers.
 */
export function toEntryValue<T>(
  serializer: Serializer<T>,
  value: T,
  writer: ByteWriter,
): EntryValue {
  if (isKeptDecoded(serializer.id, value)) return value
  const copier = copierOf(serializer)
  const copy = copier?.copy(value)
  if (copy !== undefined) return new LiveObject(copy, copier!.bytes)
  writer.reset()
  serializer.write(value, writer)
  return writer.toBytes()
}

/** The value of an entry, decoded; the caller owns it, unless the serializer's copier shares objects. */
export function fromEntryValue<T>(serializer: Serializer<T>, value: EntryValue): T {
  if (value instanceof LiveObject) return ownCopy(serializer, value.object as T)
  if (value instanceof Uint8Array) return serializer.read(new ByteReader(value))
  if (value instanceof ListValue) {
    throw new WeirError('ILLEGAL_STATE', 'a list was read as a plain value')
  }
  return value as T
}

/** A copy of an object that an entry holds, or the object itself where objects are shared. */
function ownCopy<T>(serializer: Serializer<T>, value: T): T {
  const copier = copierOf(serializer)
  if (copier?.shares === true) return value
  const copy = copier?.copy(value)
  if (copy !== undefined) return copy
  const writer = new ByteWriter(256)
  serializer.write(value, writer)
  return serializer.read(new ByteReader(writer.toBytes()))
}

/** Appends the value's bytes. `serializer` may be missing while the value is encoded already. */
export function writeEntryValue(
  serializer: Serializer<unknown> | undefined,
  value: EntryValue,
  writer: ByteWriter,
): void {
  if (value instanceof Uint8Array) writer.raw(value)
  else if (value instanceof ListValue) value.write(serializer, writer)
  else if (value instanceof LiveObject) serializer!.write(value.object, writer)
  else if (value !== undefined) serializer!.write(value, writer)
}

/** Bytes of the expiry time in front of the value of a state with a time to live. */
export const EXPIRY_BYTES = 8

/** The expiry time in front of a value, ms. */
export function readExpiry(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return view.getInt32(4, true) * 4294967296 + view.getUint32(0, true)
}
