import { ByteReader } from '../../core/byte-reader.ts'
import { WeirError } from '../../core/errors.ts'
import { aFunction, either, oneOf } from '../../core/options/kinds.ts'
import { serializer } from '../../core/options/ports.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { RecordDeserializer, RecordView } from './topic-record.ts'

/** Options of `deserializeValue`. */
export interface ValueDeserializerOptions<T> {
  /**
   * How a record without a value is handled: as undecodable (default), skipped (counted as
   * `numRecordsSkipped`), or converted by a function, for instance from its key.
   */
  readonly tombstones?: 'refuse' | 'skip' | ((record: RecordView, partition: number) => T)
}

const VALUE_DESERIALIZER: OptionShape<ValueDeserializerOptions<unknown>> = {
  tombstones: either(oneOf('refuse', 'skip'), aFunction()),
}

/** Key and value of a record, both decoded. */
export interface KeyedValue<K, V> {
  /** Null when the record has no key. */
  readonly key: K | null
  /** Null marks a deletion (tombstone). */
  readonly value: V | null
}

/** Deserializer that reads the value of every record with a format and ignores the key. */
export function deserializeValue<T>(
  format: Serializer<T>,
  options: ValueDeserializerOptions<T> = {},
): RecordDeserializer<T> {
  checkArgument('deserializeValue', 'format', serializer<T>(), format)
  checkOptions('deserializeValue', VALUE_DESERIALIZER, options)
  const { tombstones = 'refuse' } = options
  const span = new SpanReader(format)
  return (record, partition) => {
    if (record.valueLength >= 0)
      return span.read(record.bytes, record.valueStart, record.valueLength)
    if (tombstones === 'skip') return undefined
    if (tombstones !== 'refuse') return tombstones(record, partition)
    throw new WeirError(
      'UNPARSABLE_RECORD',
      'the record has no value (a tombstone); set `tombstones` to skip or convert such records',
    )
  }
}

/** Deserializer that reads key and value of every record, each with its own format. */
export function deserializeKeyValue<K, V>(
  keyFormat: Serializer<K>,
  valueFormat: Serializer<V>,
): RecordDeserializer<KeyedValue<K, V>> {
  checkArgument('deserializeKeyValue', 'keyFormat', serializer<K>(), keyFormat)
  checkArgument('deserializeKeyValue', 'valueFormat', serializer<V>(), valueFormat)
  const keys = new SpanReader(keyFormat)
  const values = new SpanReader(valueFormat)
  return ({ bytes, keyStart, keyLength, valueStart, valueLength }) => ({
    key: keyLength < 0 ? null : keys.read(bytes, keyStart, keyLength),
    value: valueLength < 0 ? null : values.read(bytes, valueStart, valueLength),
  })
}

/** Reads spans of a batch's bytes with one format. One reader serves all records of a batch. */
class SpanReader<T> {
  private readonly format: Serializer<T>
  private reader = new ByteReader(new Uint8Array(0))

  constructor(format: Serializer<T>) {
    this.format = format
  }

  read(bytes: Uint8Array, start: number, length: number): T {
    if (this.reader.bytes !== bytes) this.reader = new ByteReader(bytes)
    this.reader.span(start, start + length)
    return this.format.read(this.reader)
  }
}
