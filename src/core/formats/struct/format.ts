import type { ByteReader } from '../../byte-reader.ts'
import { requireArgument, WeirError } from '../../errors.ts'
import { anything, listOf, objectWith, required, name as text } from '../../options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../options/shape.ts'
import type { EvolvingSerializer, ValueReader } from '../../serializer.ts'
import {
  type NamedField,
  readList,
  readType,
  type StructType,
  setField,
  type TypeForm,
  writeType,
} from './types.ts'

/** The type of a field: a plain one, one that may be missing, a list, or the fields of a record within the record. */
export type FieldType =
  | StructType
  | { readonly optional: FieldType }
  | { readonly list: FieldType }
  | { readonly struct: StructFields<object> }

/** One field of a record. */
export interface StructField<V> {
  readonly type: FieldType
  /** Value of the field in records that were stored without it. A field that may be missing needs none. */
  readonly default?: V
  /** Former names of the field. */
  readonly aliases?: readonly string[]
}

const FIELD: OptionShape<StructField<unknown>> = {
  type: required(anything()),
  default: anything(),
  aliases: listOf(text),
}
const FIELDS = objectWith<object>('the fields of a record by name')

/** The fields of a record of type `T` by name. */
export type StructFields<T extends object> = { readonly [K in keyof T]-?: StructField<T[K]> }

/*
 * The id of the serializer is its schema: the kind, its version, and the types by name as JSON.
 *
 *   struct/1{"user":"string","amount":"float64","note":["optional","string"],"tags":["list","string"]}
 *
 * A record is its fields in this order; see `types.ts` for their bytes.
 */

/**
 * Records of declared fields. What other versions of the declaration have written stays readable: a field that is
 * added needs a default (or may be missing), one that is removed is skipped, a renamed one has its former name among
 * its aliases, and a type may become wider (int32, int53, float64; optional; any). Throws INVALID_ARGUMENT for types
 * that do not exist; writing a record with a value of another type throws it, too.
 */
export function structFormat<T extends object>(fields: StructFields<T>): EvolvingSerializer<T> {
  const named = fieldsOf(fields as StructFields<object>)
  const form: TypeForm = ['struct', named]
  return {
    id: `struct/1${JSON.stringify(schemaOf(named))}`,
    write: (value, writer) => writeType(form, value, writer, ''),
    read: (reader) => readType(form, reader) as T,
    readerOf: (storedId) => structReader(named, storedId) as ValueReader<T> | string,
  }
}

function fieldsOf(fields: StructFields<object>): readonly NamedField[] {
  checkArgument('structFormat', 'fields', FIELDS, fields)
  const entries = Object.entries(fields) as [string, StructField<unknown>][]
  requireArgument(entries.length > 0, 'structFormat got no fields')
  return entries.map(([name, field]) => {
    checkOptions(`structFormat: field "${name}"`, FIELD, field)
    const form = formOf(field.type, name)
    const isOptional = form[0] === 'optional'
    const hasDefault = 'default' in field || isOptional
    return { name, form, aliases: field.aliases ?? [], hasDefault, missing: field.default }
  })
}

const PLAIN: ReadonlySet<unknown> = new Set<StructType>([
  'boolean',
  'int32',
  'int53',
  'float64',
  'string',
  'bytes',
  'any',
])

function formOf(type: FieldType | undefined, name: string): TypeForm {
  if (typeof type === 'string' && PLAIN.has(type)) return [type]
  if (typeof type === 'object' && type !== null) {
    if ('optional' in type) return ['optional', formOf(type.optional, name)]
    if ('list' in type) return ['list', formOf(type.list, name)]
    if ('struct' in type) return ['struct', fieldsOf(type.struct)]
  }
  throw new WeirError(
    'INVALID_ARGUMENT',
    `field "${name}" of structFormat has the type ${JSON.stringify(type)}, but takes ${[...PLAIN].join(', ')}, { optional }, { list } or { struct }`,
  )
}

/** The types of fields by name, as the id has them. */
function schemaOf(fields: readonly NamedField[]): unknown {
  return Object.fromEntries(fields.map(({ name, form }) => [name, schemaOfType(form)]))
}

function schemaOfType(form: TypeForm): unknown {
  switch (form[0]) {
    case 'optional':
    case 'list':
      return [form[0], schemaOfType(form[1])]
    case 'struct':
      return schemaOf(form[1])
    default:
      return form[0]
  }
}

/** Types that hold all values of the key. `any` holds those of each type. */
const WIDER: Readonly<Partial<Record<StructType, readonly StructType[]>>> = {
  int32: ['int53', 'float64'],
  int53: ['float64'],
}

const ID = /^struct\/1(\{.*\})$/s

/**
 * The reader of records that `structFormat` has written with other fields, into the present ones; a text that says
 * which field cannot be read.
 */
function structReader(
  fields: readonly NamedField[],
  storedId: string,
): ValueReader<unknown> | string {
  const json = ID.exec(storedId)?.[1]
  if (json === undefined) return `structFormat does not read ${storedId}`
  return resolveStruct(storedFields(JSON.parse(json)), fields, '')
}

function storedFields(schema: unknown): readonly NamedField[] {
  return Object.entries(schema as Readonly<Record<string, unknown>>).map(([name, type]) => {
    return { name, form: storedForm(type), aliases: [], hasDefault: false, missing: undefined }
  })
}

function storedForm(type: unknown): TypeForm {
  if (typeof type === 'string') return [type as StructType]
  if (Array.isArray(type)) return [type[0] as 'list', storedForm(type[1])]
  return ['struct', storedFields(type)]
}

/** Reads a stored field, and puts it where it belongs. */
type Step = (reader: ByteReader, record: Record<string, unknown>) => void

function resolveStruct(
  stored: readonly NamedField[],
  fields: readonly NamedField[],
  path: string,
): ValueReader<object> | string {
  const steps: Step[] = []
  const found = new Set<NamedField>()
  for (const { name, form } of stored) {
    const field = fieldFor(name, stored, fields)
    if (field === undefined) {
      steps.push((reader) => void readType(form, reader))
      continue
    }
    const read = resolve(form, field.form, path + field.name)
    if (typeof read === 'string') return read
    found.add(field)
    steps.push((reader, record) => setField(record, field.name, read(reader)))
  }
  const added = fields.filter((field) => !found.has(field))
  const unknown = added.find(({ hasDefault }) => !hasDefault)
  if (unknown !== undefined) {
    return `field "${path}${unknown.name}" is new and has no default, and no alias that names its former field`
  }
  return (reader) => {
    const record: Record<string, unknown> = {}
    for (const step of steps) step(reader, record)
    for (const { name, missing } of added) setField(record, name, structuredClone(missing))
    return record
  }
}

/** The present field of a stored one: the one of its name, else the one that had this name before. */
function fieldFor(
  name: string,
  stored: readonly NamedField[],
  fields: readonly NamedField[],
): NamedField | undefined {
  const same = fields.find((field) => field.name === name)
  if (same !== undefined) return same
  return fields.find(({ name: own, aliases }) => {
    return aliases.includes(name) && !stored.some((other) => other.name === own)
  })
}

function resolve(stored: TypeForm, form: TypeForm, path: string): ValueReader<unknown> | string {
  if (form[0] === 'optional' && stored[0] !== 'optional') return resolve(stored, form[1], path)
  if (form[0] === 'any') return (reader) => readType(stored, reader)
  switch (stored[0]) {
    case 'optional': {
      if (form[0] !== 'optional') return narrower(stored, form, path)
      const read = resolve(stored[1], form[1], path)
      if (typeof read === 'string') return read
      return (reader) => (reader.uint8() === 0 ? undefined : read(reader))
    }
    case 'list': {
      if (form[0] !== 'list') return narrower(stored, form, path)
      const read = resolve(stored[1], form[1], `${path}[]`)
      return typeof read === 'string' ? read : (reader) => readList(reader, read)
    }
    case 'struct':
      if (form[0] !== 'struct') return narrower(stored, form, path)
      return resolveStruct(stored[1], form[1], `${path}.`)
    default: {
      const isWider = WIDER[stored[0]]?.includes(form[0] as StructType) === true
      if (stored[0] !== form[0] && !isWider) return narrower(stored, form, path)
      return (reader) => readType(stored, reader)
    }
  }
}

function narrower([stored]: TypeForm, [type]: TypeForm, path: string): string {
  return `field "${path}" was ${stored} and is now ${type}, which does not hold all its values`
}
