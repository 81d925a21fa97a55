import AjvCompiler from '@fastify/ajv-compiler'
import type { FastifyRequest, FastifySchemaValidationError, FastifyServerOptions } from 'fastify'
import { WeirError } from '../core/errors.ts'
import { nearestWord } from '../core/text/nearest-word.ts'
import { unknownField } from './body-fields.ts'

/** Most characters of a refused value in a message. */
const SHOWN = 40

type BuildValidator = ReturnType<typeof AjvCompiler>

/**
 * Compiler of schemas that converts the texts of parameters and header fields to the type of their
 * schema, but nothing of a body.
 */
export const buildValidator = ((
  schemas: Parameters<BuildValidator>[0],
  options: { readonly customOptions?: object },
) => {
  const build = AjvCompiler()
  const strictOptions = {
    ...options,
    customOptions: { ...options.customOptions, coerceTypes: false },
  }
  const converting = build(schemas, options)
  const strict = build(schemas, strictOptions)
  return (route: BodyRoute) => {
    if (route.httpPart !== 'body') return converting(route as never)
    return withoutBytes(strict(route as never) as Validate, route.schema)
  }
}) as BuildValidator

/** What a validator is made of. */
interface BodyRoute {
  readonly httpPart?: string
  readonly schema: object
}

/** A validator of Ajv. */
interface Validate {
  (value: unknown): boolean
  errors?: readonly object[] | null
}

const NO_JSON = { keyword: 'type', instancePath: '', message: 'must be JSON', params: {} }

/** Refuses bytes where a schema says what fields and elements there are: for Ajv each byte would be a field. */
function withoutBytes(validate: Validate, schema: object): Validate {
  const isOfJson = ['properties', 'items', 'anyOf', 'oneOf', '$ref'].some((key) => key in schema)
  if (!isOfJson) return validate
  const checked: Validate = (value) => {
    const isBytes = value instanceof Uint8Array
    const isValid = !isBytes && validate(value)
    checked.errors = isBytes ? [NO_JSON] : (validate.errors ?? null)
    return isValid
  }
  return checked
}

/** Validation of requests: a body of JSON has types, so that the id `1592` is no text. */
export const VALIDATION: Pick<
  FastifyServerOptions,
  'ajv' | 'schemaController' | 'schemaErrorFormatter'
> = {
  // A number of the path stays a text: the id "1" and the id "01" are two. `verbose`: errors have the value.
  ajv: { customOptions: { coerceTypes: 'array', removeAdditional: false, verbose: true } },
  schemaController: { compilersFactory: { buildValidator } },
  schemaErrorFormatter: (errors, part) => new Error(refusalText(errors, part)),
}

/** Throws INVALID_ARGUMENT unless the JSON of a body, which the route has read itself, is what a schema says. */
export function requireValidBody(
  request: Pick<FastifyRequest, 'compileValidationSchema'>,
  schema: object,
  json: unknown,
): void {
  const validate = request.compileValidationSchema(schema as Record<string, unknown>, 'body')
  if (validate(json)) return
  throw new WeirError('INVALID_ARGUMENT', refusalText(validate.errors ?? [], 'body'))
}

function refusalText(errors: readonly FastifySchemaValidationError[], part: string): string {
  const [first, ...others] = errors as readonly Refusal[]
  if (first === undefined) return `the ${part} is not valid`
  const error = others.reduce((best, one) => (rankOf(one) < rankOf(best) ? one : best), first)
  return sentenceOf(error, `${part}${error.instancePath}`)
}

/** An error of a schema with the value that it is about, and the schema of that value. */
interface Refusal extends FastifySchemaValidationError {
  readonly data?: unknown
  readonly parentSchema?: {
    readonly description?: string
    readonly properties?: object
    readonly additionalProperties?: unknown
  }
}

/** Of the errors of several schemas for one value, the one that is deepest in it, or names a field, says most. */
function rankOf({ instancePath, keyword }: Refusal): number {
  const names = ['additionalProperties', 'required'].includes(keyword)
  return -2 * instancePath.split('/').length - (names ? 1 : 0)
}

function sentenceOf(error: Refusal, place: string): string {
  const { keyword, data, parentSchema, params } = error
  const unknown = unknownFieldOf(error)
  if (unknown !== undefined) {
    return unknownField(place, unknown, Object.keys(parentSchema?.properties ?? {}))
  }
  if (keyword === 'enum') return `${place} cannot be ${shownOf(data)}${adviceOf(data, params)}`
  if (keyword !== 'pattern') return `${place} ${error.message ?? 'is not valid'}`
  return `${place} cannot be ${shownOf(data)}. ${parentSchema?.description ?? error.message}`
}

/** The beginning of a refused value. Only of errors about one value: that of others may be the whole body. */
const shownOf = (data: unknown): string | undefined => JSON.stringify(data)?.slice(0, SHOWN)

/** The field that an object does not have; a required one may be missing because it is misspelt. */
function unknownFieldOf({ keyword, data, parentSchema = {}, params }: Refusal): string | undefined {
  if (keyword === 'additionalProperties') return String(params['additionalProperty'])
  const { properties = {}, additionalProperties } = parentSchema
  if (keyword !== 'required' || additionalProperties !== false) return undefined
  return Object.keys(data as object).find((name) => !Object.hasOwn(properties, name))
}

function adviceOf(data: unknown, { allowedValues }: Refusal['params']): string {
  const allowed = allowedValues as readonly unknown[]
  const words = allowed.filter((one) => typeof one === 'string')
  const nearest = typeof data === 'string' ? nearestWord(data, words) : undefined
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return `, but ${allowed.map((one) => JSON.stringify(one)).join(', ')}${hint}`
}
