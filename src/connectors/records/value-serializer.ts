import { ByteWriter } from '../../core/byte-writer.ts'
import { aFunction, required } from '../../core/options/kinds.ts'
import { serializer } from '../../core/options/ports.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { bytesSerializer, type Serializer, stringSerializer } from '../../core/serializer.ts'
import { writeShortText } from '../../core/text/short-text.ts'
import type { OutgoingRecord, RecordSerializer } from './outgoing-record.ts'

/** Options of `serializeValue`. */
export interface ValueSerializerOptions<T> {
  /** The record's key as text, which chooses its partition; default none. */
  readonly keyOf?: (value: T) => string
  /** Whether to write a tombstone, a record with a key and no value; default never. */
  readonly isTombstone?: (value: T) => boolean
  /** Sets other parts of the record: timestamp, partition, headers. */
  readonly finish?: (value: T, record: OutgoingRecord) => void
}

const VALUE_SERIALIZER: OptionShape<ValueSerializerOptions<unknown>> = {
  keyOf: aFunction(),
  isTombstone: aFunction(),
  finish: aFunction(),
}

/** Options of `serializeKeyValue`. */
export interface KeyValueSerializerOptions<T, K, V> {
  readonly keyOf: (value: T) => K
  /** Null writes a tombstone. */
  readonly valueOf: (value: T) => V | null
  readonly finish?: (value: T, record: OutgoingRecord) => void
}

const KEY_VALUE_SERIALIZER: OptionShape<KeyValueSerializerOptions<unknown, unknown, unknown>> = {
  keyOf: required(aFunction()),
  valueOf: required(aFunction()),
  finish: aFunction(),
}

/** Serializer that writes every value with a format, under a text key if `keyOf` is given. */
export function serializeValue<T>(
  format: Serializer<T>,
  options: ValueSerializerOptions<T> = {},
): RecordSerializer<T> {
  checkArgument('serializeValue', 'format', serializer<T>(), format)
  checkOptions('serializeValue', VALUE_SERIALIZER, options)
  const { keyOf, isTombstone, finish } = options
  const keys = new SpanWriter(textKeys)
  const values = new SpanWriter(format)
  return (value, record) => {
    if (keyOf !== undefined) record.key = keys.write(keyOf(value))
    if (isTombstone?.(value) !== true) record.value = values.write(value)
    finish?.(value, record)
  }
}

/** Serializer that writes key and value of every record, each with its own format. */
export function serializeKeyValue<T, K, V>(
  keyFormat: Serializer<K>,
  valueFormat: Serializer<V>,
  options: KeyValueSerializerOptions<T, K, V>,
): RecordSerializer<T> {
  checkArgument('serializeKeyValue', 'keyFormat', serializer<K>(), keyFormat)
  checkArgument('serializeKeyValue', 'valueFormat', serializer<V>(), valueFormat)
  checkOptions('serializeKeyValue', KEY_VALUE_SERIALIZER, options)
  const { keyOf, finish } = options
  const keys = new SpanWriter(keyFormat)
  const values = new SpanWriter(valueFormat)
  return (value, record) => {
    const content = options.valueOf(value)
    record.key = keys.write(keyOf(value))
    record.value = content === null ? null : values.write(content)
    finish?.(value, record)
  }
}

/** `stringSerializer`, faster for short keys. */
const textKeys: Serializer<string> = { ...stringSerializer, write: writeShortText }

/**
 * Writes every value into the same buffer: a record's bytes are copied before the next one. Values that are bytes
 * pass as they are.
 */
class SpanWriter<T> {
  private readonly format: Serializer<T>
  /** Whether values are their own bytes. */
  private readonly isBytes: boolean
  private readonly writer = new ByteWriter(256)

  constructor(format: Serializer<T>) {
    this.format = format
    this.isBytes = Object.is(format, bytesSerializer)
  }

  write(value: T): Uint8Array {
    if (this.isBytes) return value as Uint8Array
    this.writer.reset()
    this.format.write(value, this.writer)
    return this.writer.bytes.subarray(0, this.writer.length)
  }
}
