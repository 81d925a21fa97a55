import { ByteReader } from '../core/byte-reader.ts'
import { WeirError } from '../core/errors.ts'
import { msgpackSerializer } from '../core/formats/msgpack-serializer.ts'
import { serializer } from '../core/options/ports.ts'
import type { OptionShape } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import { QUERY, type QueryOptions } from './model-reader.ts'

/** Options of `WeirClient.get`. */
export interface GetOptions extends QueryOptions {
  /** Serializer of the state's values, elements or accumulators. @default MessagePack */
  readonly serializer?: Serializer<unknown>
  /** Serializer of the keys of map state. @default MessagePack */
  readonly mapKeySerializer?: Serializer<unknown>
}

/** The options of `WeirClient.get`. */
export const GET: OptionShape<GetOptions> = {
  ...QUERY,
  serializer: serializer<unknown>(),
  mapKeySerializer: serializer<unknown>(),
}

/**
 * The value that VALUES carries for a kind of state: an array for a list, a Map for a map, else the one
 * value. Throws what the serializer throws (UNPARSABLE_RECORD, MALFORMED_DATA), UNSUPPORTED for a kind that this
 * client does not know.
 */
export function decodeTypedValue(kind: string, bytes: Uint8Array, options: GetOptions): unknown {
  const values = options.serializer ?? msgpackSerializer<unknown>()
  const reader = new ByteReader(bytes)
  switch (kind) {
    case 'value':
    case 'reducing':
    case 'aggregating':
      return values.read(reader)
    case 'list':
      return [...elements(reader, values)]
    case 'map':
      return mapOf(reader, options.mapKeySerializer ?? msgpackSerializer<unknown>(), values)
    default:
      throw new WeirError('UNSUPPORTED', `this client cannot decode state of kind ${kind}`)
  }
}

function* elements(reader: ByteReader, serializer: Serializer<unknown>): Generator<unknown> {
  while (reader.remaining > 0) yield sizedValue(reader, serializer)
}

function mapOf(
  reader: ByteReader,
  keys: Serializer<unknown>,
  values: Serializer<unknown>,
): ReadonlyMap<unknown, unknown> {
  const entries = new Map<unknown, unknown>()
  while (reader.remaining > 0) {
    entries.set(sizedValue(reader, keys), sizedValue(reader, values))
  }
  return entries
}

/** A value with its byte count before it; a serializer may read to the end of its bytes. */
function sizedValue(reader: ByteReader, serializer: Serializer<unknown>): unknown {
  return serializer.read(new ByteReader(reader.sized()))
}
