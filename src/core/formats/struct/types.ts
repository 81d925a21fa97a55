import { ByteReader } from '../../byte-reader.ts'
import { ByteWriter } from '../../byte-writer.ts'
import { WeirError } from '../../errors.ts'
import { describeValue } from '../../text/describe-value.ts'
import { msgpackSerializer } from '../msgpack-serializer.ts'

/** A type without parts. */
export type StructType = 'boolean' | 'int32' | 'int53' | 'float64' | 'string' | 'bytes' | 'any'

/** A type with its parts. */
export type TypeForm =
  | readonly [StructType]
  | readonly ['optional', TypeForm]
  | readonly ['list', TypeForm]
  | readonly ['struct', readonly NamedField[]]

/** A field as reading and writing see it. */
export interface NamedField {
  readonly name: string
  readonly form: TypeForm
  readonly aliases: readonly string[]
  /** Whether records that were stored without the field get `missing`. */
  readonly hasDefault: boolean
  readonly missing: unknown
}

/*
 * The bytes of a value by its type, numbers little-endian:
 *
 *   boolean   u8, 0 or 1                    string    varuint length, UTF-8
 *   int32     4 bytes                       bytes     varuint length, bytes
 *   int53     8 bytes                       any       varuint length, MessagePack
 *   float64   8 bytes                       optional  u8, 0 for none; 1, then the value
 *   list      varuint count, the elements   struct    the fields in their order
 */

const any = msgpackSerializer<unknown>()

/** Appends a value of a type. `path`: names of the fields that lead to it. Throws INVALID_ARGUMENT for another type. */
export function writeType(form: TypeForm, value: unknown, writer: ByteWriter, path: string): void {
  switch (form[0]) {
    case 'optional':
      writer.uint8(value === undefined ? 0 : 1)
      if (value !== undefined) writeType(form[1], value, writer, path)
      return
    case 'list':
      if (!Array.isArray(value)) refuse('an array', value, path)
      writer.varuint(value.length)
      for (let i = 0; i < value.length; i++) writeType(form[1], value[i], writer, `${path}[${i}]`)
      return
    case 'struct':
      if (typeof value !== 'object' || value === null) refuse('a record', value, path)
      for (const { name, form: type } of form[1]) {
        const field = (value as Readonly<Record<string, unknown>>)[name]
        writeType(type, field, writer, path === '' ? name : `${path}.${name}`)
      }
      return
    default:
      writePlain(form[0], value, writer, path)
  }
}

function writePlain(type: StructType, value: unknown, writer: ByteWriter, path: string): void {
  switch (type) {
    case 'boolean':
      if (typeof value !== 'boolean') refuse('a boolean', value, path)
      writer.uint8(value ? 1 : 0)
      return
    case 'int32':
      if (typeof value !== 'number' || (value | 0) !== value) refuse('an int32', value, path)
      writer.int32(value)
      return
    case 'int53':
      if (!Number.isSafeInteger(value)) refuse('a whole number of 53 bits', value, path)
      writer.int53(value as number)
      return
    case 'float64':
      if (typeof value !== 'number') refuse('a number', value, path)
      writer.float64(value)
      return
    case 'string':
      if (typeof value !== 'string') refuse('a string', value, path)
      writer.text(value)
      return
    case 'bytes':
      if (!(value instanceof Uint8Array)) refuse('a Uint8Array', value, path)
      writer.sized(value)
      return
    case 'any': {
      const packed = new ByteWriter(64)
      any.write(value, packed)
      writer.sized(packed.bytes.subarray(0, packed.length))
    }
  }
}

/** Reads a value of a type. Throws MALFORMED_DATA. */
export function readType(form: TypeForm, reader: ByteReader): unknown {
  switch (form[0]) {
    case 'boolean':
      return reader.uint8() === 1
    case 'int32':
      return reader.int32()
    case 'int53':
      return reader.int53()
    case 'float64':
      return reader.float64()
    case 'string':
      return reader.text()
    case 'bytes':
      return reader.sized().slice()
    case 'any':
      return any.read(new ByteReader(reader.sized()))
    case 'optional':
      return reader.uint8() === 0 ? undefined : readType(form[1], reader)
    case 'list':
      return readList(reader, (element) => readType(form[1], element))
    case 'struct':
      return readStruct(form[1], reader)
  }
}

/** Reads a list, each element by `read`. Throws MALFORMED_DATA. */
export function readList(reader: ByteReader, read: (reader: ByteReader) => unknown): unknown[] {
  const count = reader.varuint()
  const values: unknown[] = []
  for (let i = 0; i < count; i++) values.push(read(reader))
  return values
}

function readStruct(fields: readonly NamedField[], reader: ByteReader): object {
  const record: Record<string, unknown> = {}
  for (const { name, form } of fields) setField(record, name, readType(form, reader))
  return record
}

/** Sets a field of a record that is read; one that is missing is none. */
export function setField(record: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) return
  if (name !== '__proto__') record[name] = value
  else Object.defineProperty(record, name, { value, enumerable: true, writable: true })
}

function refuse(takes: string, value: unknown, path: string): never {
  const what = path === '' ? 'a value of structFormat' : `field "${path}" of structFormat`
  throw new WeirError('INVALID_ARGUMENT', `${what} is ${describeValue(value)}, not ${takes}`)
}
