import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { copierOf, isKeptDecoded, type Serializer } from '../../core/serializer.ts'
import { ListValue } from './list.ts'

/** Plain data of which a copier has made a copy, decoded; an entry holds it without a holder, which would be one more object. */
export type PlainObject = object

/**
 * The value of an entry. Primitives that the serializer keeps exactly stay decoded. Everything else is
 * encoded bytes, a list, plain data, or an accumulator.
 */
export type EntryValue =
  | undefined
  | number
  | string
  | boolean
  | Uint8Array
  | ListValue
  | LiveAccumulator
  | PlainObject

/** The accumulator of a function, which may be anything, encoded bytes included; only its handle touches it. */
export class LiveAccumulator {
  object: unknown

  constructor(object: unknown) {
    this.object = object
  }
}

/** Bytes of heap that an encoded value takes. */
export function bytesOfEncoded({ length }: Uint8Array): number {
  // Empty ones are one object.
  return length === 0 ? 0 : 120 + length
}

/**
 * Brings values of one state into the form that memory holds: the primitive itself where the serializer gives back
 * exactly the same one, else a copy, else its encoded bytes. So memory shares no object with callers.
 */
export class EntryForm<T> {
  /** About how many bytes of heap the last value takes. */
  bytes = 0
  private readonly serializer: Serializer<T>
  private readonly writer = new ByteWriter(256)

  constructor(serializer: Serializer<T>) {
    this.serializer = serializer
  }

  /** The form of a value. */
  of(value: T): EntryValue {
    const { serializer } = this
    if (isKeptDecoded(serializer.id, value)) {
      this.bytes = typeof value === 'string' ? 24 + value.length : 0
      return value
    }
    const copier = copierOf(serializer)
    const copy = copier?.copy(value)
    if (copy === undefined) return this.encoded(value)
    this.bytes = copier!.bytes
    return copy as PlainObject
  }

  private encoded(value: T): Uint8Array {
    const { writer } = this
    writer.reset()
    this.serializer.write(value, writer)
    const bytes = writer.toBytes()
    this.bytes = bytesOfEncoded(bytes)
    return bytes
  }
}

/** The value of an entry, decoded; the caller owns it, unless the serializer's copier shares objects. */
export function fromEntryValue<T>(serializer: Serializer<T>, value: EntryValue): T {
  if (typeof value !== 'object') return value as T
  if (value instanceof Uint8Array) return serializer.read(new ByteReader(value))
  if (value instanceof LiveAccumulator) return ownCopy(serializer, value.object as T)
  if (value instanceof ListValue) {
    throw new WeirError('ILLEGAL_STATE', 'a list was read as a plain value')
  }
  return ownCopy(serializer, value as T)
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
  else if (value instanceof LiveAccumulator) serializer!.write(value.object, writer)
  else if (value !== undefined) serializer!.write(value, writer)
}

/** Bytes of the expiry time in front of the value of a state with a time to live. */
export const EXPIRY_BYTES = 8

/** The expiry time in front of a value, ms. */
export function readExpiry(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return view.getInt32(4, true) * 4294967296 + view.getUint32(0, true)
}
