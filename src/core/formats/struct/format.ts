import { requireArgument, WeirError } from '../../errors.ts'
import { anything, listOf, objectWith, required, name as text } from '../../options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../options/shape.ts'
import type { EvolvingSerializer, ValueReader } from '../../serializer.ts'
import { structReader } from './evolution.ts'
import { type NamedField, readType, type StructType, type TypeForm, writeType } from './types.ts'

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
