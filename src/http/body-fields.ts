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
  const problem = problemOf(schema, body, 'body')
  if (problem !== undefined) throw new WeirError('INVALID_ARGUMENT', problem)
}

function problemOf(schema: NamingSchema, value: unknown, path: string): string | undefined {
  const { properties, items, additionalProperties } = schema
  if (Array.isArray(value)) {
    // Elements of tensors have no fields.
    if (items?.properties === undefined) return undefined
    return firstOf(value, (one, i) => problemOf(items, one, `${path}/${i}`))
  }
  if (properties === undefined || typeof value !== 'object' || value === null) return undefined
  return firstOf(Object.entries(value), ([name, field]) => {
    if (Object.hasOwn(properties, name))
      return problemOf(properties[name]!, field, `${path}/${name}`)
    if (additionalProperties !== false) return undefined
    return unknownField(path, name, Object.keys(properties))
  })
}

function firstOf<T>(
  values: readonly T[],
  problem: (value: T, index: number) => string | undefined,
): string | undefined {
  for (const [i, value] of values.entries()) {
    const found = problem(value, i)
    if (found !== undefined) return found
  }
  return undefined
}
