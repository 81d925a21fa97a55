import { WeirError } from '../core/errors.ts'
import { nearestWord } from '../core/text/nearest-word.ts'

/** The part of a JSON schema that names fields. */
interface NamingSchema {
  readonly properties?: Readonly<Record<string, NamingSchema>>
  readonly additionalProperties?: unknown
  readonly items?: NamingSchema
}

/** Longest name that a message shows. */
const SHOWN = 60

/** The sentence about a field that an object does not have. */
export function unknownField(path: string, name: string, known: readonly string[]): string {
  const nearest = nearestWord(name, known)
  const advice =
    nearest === undefined
      ? `it takes ${known.length === 0 ? 'none' : known.join(', ')}`
      : `did you mean "${nearest}"?`
  return `${path} has no field "${name.slice(0, SHOWN)}"; ${advice}`
}

/**
 * Throws INVALID_ARGUMENT, which names the field and the nearest known one, for a field of a JSON body that its schema does
 * not have, in lists and objects within it, too. For routes whose body no schema validates: the validation of the others
 * says the same.
 */
export function requireKnownFields(schema: object, body: unknown): void {
  const found = unknownIn(schema, body)
  if (found === undefined) return
  const { path, name, known } = found
  throw new WeirError('INVALID_ARGUMENT', unknownField(`body${path}`, name, known))
}

/** A field that its schema does not have. */
interface UnknownField {
  /** Its place in the value that was looked at, such as `/inputs/0`. */
  readonly path: string
  readonly name: string
  readonly known: readonly string[]
}

/** The first unknown field. Its path is made on the way back: a client may send half a million elements. */
function unknownIn(schema: NamingSchema, value: unknown): UnknownField | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { properties, items, additionalProperties } = schema
  if (Array.isArray(value)) {
    // Elements of tensors have no fields.
    return items?.properties === undefined ? undefined : unknownInList(items, value)
  }
  if (properties === undefined) return undefined
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(properties, name)) {
      const found = unknownIn(properties[name]!, (value as Record<string, unknown>)[name])
      if (found !== undefined) return { ...found, path: `/${name}${found.path}` }
    } else if (additionalProperties === false) {
      return { path: '', name, known: Object.keys(properties) }
    }
  }
  return undefined
}

function unknownInList(items: NamingSchema, values: readonly unknown[]): UnknownField | undefined {
  for (let i = 0; i < values.length; i++) {
    const found = unknownIn(items, values[i])
    if (found !== undefined) return { ...found, path: `/${i}${found.path}` }
  }
  return undefined
}
