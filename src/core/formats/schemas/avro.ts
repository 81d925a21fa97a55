import { messageOf, WeirError } from '../../errors.ts'
import { kindOf } from '../../options/kinds.ts'
import { checkArgument } from '../../options/shape.ts'
import type { EvolvingSerializer } from '../../serializer.ts'
import { unparsable } from '../text.ts'

/** A type of `avsc`, as far as a format needs it. */
export interface AvroType {
  toBuffer(value: unknown): Uint8Array
  fromBuffer(bytes: Buffer, resolver?: unknown): unknown
  /** What reads values of another type as values of this one. Throws where the schemas cannot be resolved. */
  createResolver(writer: AvroType): unknown
  /** The schema without what only its readers need: defaults, aliases and documentation. */
  schema(): unknown
}

/** The class `Type` of the package `avsc`. */
export interface AvroTypes {
  forSchema(schema: unknown): AvroType
}

const TYPES = kindOf<AvroTypes>(
  'the class Type of the package avsc',
  (value) => typeof (value as Partial<AvroTypes> | null)?.forSchema === 'function',
)

/*
 * The id of the serializer is the schema that its values are written with: avro/1{"type":"record",...}. A value is its
 * binary encoding, without a header (Apache Avro Specification 1.12, "Binary encoding").
 */
const ID = /^avro\/1(.+)$/s

/**
 * Values of an Avro schema. What another schema has written is read by Avro's own resolution: defaults of new fields,
 * aliases, wider types (Apache Avro Specification 1.12, "Schema Resolution"). `types` is `Type` of the package `avsc`, which the
 * program installs. Throws INVALID_ARGUMENT for a schema that is none; so does writing a value that does not fit.
 */
export function avroFormat<T>(types: AvroTypes, schema: unknown): EvolvingSerializer<T> {
  checkArgument('avroFormat', 'types', TYPES, types)
  const type = orInvalid('this is no Avro schema', () => types.forSchema(schema))
  const decode = (bytes: Uint8Array, resolver?: unknown): T => {
    try {
      const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      return type.fromBuffer(whole, resolver) as T
    } catch (cause) {
      throw unparsable('avro/1', cause)
    }
  }
  return {
    id: `avro/1${JSON.stringify(type.schema())}`,
    write(value, writer) {
      writer.raw(orInvalid('the value does not fit its Avro schema', () => type.toBuffer(value)))
    },
    read: (reader) => decode(reader.raw(reader.remaining)),
    readerOf(storedId) {
      const json = ID.exec(storedId)?.[1]
      if (json === undefined) return `avroFormat does not read ${storedId}`
      try {
        const resolver = type.createResolver(types.forSchema(JSON.parse(json)))
        return (reader) => decode(reader.raw(reader.remaining), resolver)
      } catch (error) {
        return `the Avro schemas cannot be resolved: ${messageOf(error)}`
      }
    },
  }
}

function orInvalid<V>(what: string, work: () => V): V {
  try {
    return work()
  } catch (cause) {
    throw new WeirError('INVALID_ARGUMENT', `${what}: ${messageOf(cause)}`, { cause })
  }
}
