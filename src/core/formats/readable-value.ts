import { isUtf8 } from 'node:buffer'
import { ByteReader } from '../byte-reader.ts'
import { msgpackSerializer } from './msgpack-serializer.ts'

/**
 * A value of queryable state as plain JSON. `kind` is that of the state: a list is an array, a map an array
 * of pairs. Each part is a value of MessagePack, else UTF-8 text, else its hexadecimal digits.
 */
export function readableValue(bytes: Uint8Array, kind = 'value'): unknown {
  if (kind !== 'list' && kind !== 'map') return readablePart(bytes)
  const parts: unknown[] = []
  const reader = new ByteReader(bytes)
  while (reader.remaining > 0) parts.push(readablePart(reader.raw(reader.varuint())))
  if (kind === 'list') return parts
  return parts.flatMap((key, i) => (i % 2 === 0 ? [[key, parts[i + 1]]] : []))
}

function readablePart(bytes: Uint8Array): unknown {
  try {
    return plainJson(msgpackSerializer<unknown>().read(new ByteReader(bytes)))
  } catch {
    const buffer = Buffer.from(bytes)
    return isUtf8(buffer) ? buffer.toString('utf8') : buffer.toString('hex')
  }
}

/** A value in which Map, Set, bigint and typed arrays are objects, arrays and texts, as JSON has them. */
function plainJson(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Map) return [...value].map((entry) => entry.map(plainJson))
  if (value instanceof Set) return [...value].map(plainJson)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (ArrayBuffer.isView(value)) return Array.from(value as Float32Array)
  if (Array.isArray(value)) return value.map(plainJson)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plainJson(field)]))
}
