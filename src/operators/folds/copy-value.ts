import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { copierOf, isKeptDecoded, type Serializer } from '../../core/serializer.ts'

/** A copy of a value that shares no object with it; undefined for one that only bytes can copy. */
export function copyInMemory<T>(serializer: Serializer<T>, value: T): T | undefined {
  return isKeptDecoded(serializer.id, value) ? value : copierOf(serializer)?.copy(value)
}

/** A copy of a value that shares no object with it, through bytes where there is no other way. */
export function copyValue<T>(serializer: Serializer<T>, value: T): T {
  const copy = copyInMemory(serializer, value)
  if (copy !== undefined) return copy
  const writer = new ByteWriter(256)
  serializer.write(value, writer)
  return serializer.read(new ByteReader(writer.toBytes()))
}
