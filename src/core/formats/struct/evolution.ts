import type { ByteReader } from '../../byte-reader.ts'
import type { ValueReader } from '../../serializer.ts'
import {
  type NamedField,
  readList,
  readType,
  type StructType,
  setField,
  type TypeForm,
} from './types.ts'

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
export function structReader(
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
