import { ByteReader } from '../core/byte-reader.ts'
import type { ByteWriter } from '../core/byte-writer.ts'
import { WeirError } from '../core/errors.ts'
import type { Serializer } from '../core/serializer.ts'
import { type EntryValue, GrowingBytes, LiveObject } from './keyed-entry.ts'

/**
 * What memory holds for `value`: the primitive itself where the serializer gives back exactly the
 * same one, else its encoded bytes, so that neither the caller's object nor a returned one is ours.
 */
export function toEntryValue<T>(
  serializer: Serializer<T>,
  value: T,
  writer: ByteWriter,
): EntryValue {
  if (isKeptDecoded(serializer.id, value)) return value
  writer.reset()
  serializer.write(value, writer)
  return writer.toBytes()
}

/** The value that memory holds, decoded; the caller owns it. */
export function fromEntryValue<T>(serializer: Serializer<T>, value: EntryValue): T {
  if (value instanceof Uint8Array) return serializer.read(new ByteReader(value))
  if (value instanceof GrowingBytes || value instanceof LiveObject) {
    throw new WeirError('ILLEGAL_STATE', 'a list or an accumulator was read as a plain value')
  }
  return value as T
}

/** Whether the serializer of this id returns exactly this primitive. */
export function isKeptDecoded(
  serializerId: string,
  value: unknown,
): value is number | string | boolean {
  switch (typeof value) {
    case 'number':
      return (
        serializerId === 'float64/1' ||
        serializerId === 'msgpack/1' ||
        (serializerId === 'int53/1' && Number.isSafeInteger(value))
      )
    case 'string':
      return serializerId === 'string/1' || serializerId === 'msgpack/1'
    case 'boolean':
      return serializerId === 'msgpack/1'
    default:
      return false
  }
}
