import { isUtf8 } from 'node:buffer'
import { ByteReader } from '../byte-reader.ts'
import { builtIn } from './built-in.ts'
import { msgpackSerializer } from './msgpack-serializer.ts'

/** What is known of the bytes of a state: its kind, and the ids of its serializers. */
export interface ReadableFormat {
  readonly kind: string
  readonly valueFormat?: string
  readonly mapKeyFormat?: string
}

/**
 * A value of queryable state as plain JSON: a list is an array, a map an array of pairs. Each part is read by the
 * serializer that wrote it; where that is not known or not there, it is a value of MessagePack, else UTF-8 text, else its
 * hexadecimal digits.
 */
export function readableValue(bytes: Uint8Array, format: ReadableFormat = VALUE): unknown {
  const { kind, valueFormat, mapKeyFormat } = format
  if (kind !== 'list' && kind !== 'map') return readablePart(bytes, valueFormat)
  const parts: unknown[] = []
  const reader = new ByteReader(bytes)
  while (reader.remaining > 0) {
    const isKey = kind === 'map' && parts.length % 2 === 0
    parts.push(readablePart(reader.raw(reader.varuint()), isKey ? mapKeyFormat : valueFormat))
  }
  if (kind === 'list') return parts
  return parts.flatMap((key, i) => (i % 2 === 0 ? [[key, parts[i + 1]]] : []))
}

const VALUE: ReadableFormat = { kind: 'value' }

function readablePart(bytes: Uint8Array, format: string | undefined): unknown {
  try {
    const known = format === undefined ? undefined : builtIn(format)
    return plainJson((known ?? msgpackSerializer<unknown>()).read(new ByteReader(bytes)))
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
