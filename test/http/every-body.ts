import type { FastifyInstance } from 'fastify'

/** A JSON schema, as far as a value is made from it. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly minimum?: number
  readonly pattern?: string
  readonly additionalProperties?: boolean | Schema
}

/** A route whose body is JSON. */
export interface BodyRoute {
  readonly method: 'POST' | 'PUT'
  readonly url: string
  readonly schema: Schema
}

interface Operation {
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>
  }
}

/** Every route of the document of a port whose body is JSON; `places` gives the parts of paths by name. */
export async function everyBody(
  app: FastifyInstance,
  places: Readonly<Record<string, string>>,
): Promise<readonly BodyRoute[]> {
  const { paths } = (await app.inject({ url: '/openapi.json' })).json<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }>()
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { requestBody }]) => {
      const schema = requestBody?.content['application/json']?.schema
      if (schema === undefined) return []
      return {
        method: method.toUpperCase() as BodyRoute['method'],
        url: path.replace(/\{(\w+)\}/g, (_, name: string) => places[name] ?? '1'),
        schema,
      }
    }),
  )
}

/** A body with a mistake, and the name that a refusal must have. */
export interface WrongBody {
  readonly mistake: string
  readonly body: unknown
  readonly named: readonly string[]
}

/** The bodies with one mistake each that a schema refuses: a field too many, one that is missing, one of a wrong type. */
export function wrongBodies(schema: Schema): readonly WrongBody[] {
  const alternatives = schema.anyOf ?? [schema]
  return alternatives.flatMap((one) => mistakesIn(one, '', (body) => body))
}

function mistakesIn(
  schema: Schema,
  path: string,
  within: (value: unknown) => unknown,
): readonly WrongBody[] {
  const { properties, required = [], items, additionalProperties } = schema
  if (items !== undefined) {
    return mistakesIn(items, `${path}/0`, (value) =>
      within(Array.from({ length: Math.max(1, schema.minItems ?? 1) }, () => value)),
    )
  }
  if (typeof additionalProperties === 'object' && properties === undefined) {
    const name = '0'.repeat(32)
    return mistakesIn(additionalProperties, `${path}/${name}`, (value) => within({ [name]: value }))
  }
  if (properties === undefined) return []
  const valid = validOf(schema) as Readonly<Record<string, unknown>>
  const tooMany = Object.keys(properties).map((name) => {
    const wrong = `${name}x`
    const body = within({ ...valid, [wrong]: 1 })
    return { mistake: `${path} has ${wrong}`, body, named: [wrong, name] }
  })
  const unlike = { mistake: `${path} has zzzzzzzz`, body: within({ ...valid, zzzzzzzz: 1 }) }
  const missing = required.map((name) => {
    const { [name]: _, ...others } = valid
    return { mistake: `${path} lacks ${name}`, body: within(others), named: [name] }
  })
  const inner = Object.entries(properties).flatMap(([name, field]) => {
    const withField = (value: unknown): unknown => within({ ...valid, [name]: value })
    const mistake = { mistake: `${path}/${name} is wrong`, body: withField(wrongOf(field)) }
    return [{ ...mistake, named: [name] }, ...mistakesIn(field, `${path}/${name}`, withField)]
  })
  // An open object goes on to who knows its other fields.
  const unknown =
    additionalProperties === true ? [] : [...tooMany, { ...unlike, named: ['zzzzzzzz'] }]
  return [...unknown, ...missing, ...inner]
}

/** Fields of a tensor that the tested model takes: a schema says nothing of its inputs. */
const OF_TENSOR: Readonly<Record<string, unknown>> = { name: 'user', datatype: 'BYTES', shape: [1] }

/** Pattern of ids. */
const DIGITS = '^[0-9a-f]{32}$'

/** A value that a schema takes. */
export function validOf(schema: Schema): unknown {
  const { anyOf, oneOf, properties = {}, required = [], items, minItems = 1 } = schema
  if (schema.enum !== undefined) return schema.enum[0]
  const [first] = anyOf ?? oneOf ?? []
  if (first !== undefined) return validOf(first)
  const [type] = [schema.type ?? 'object'].flat()
  if (type === 'object') {
    return Object.fromEntries(
      required.map((name) => [name, OF_TENSOR[name] ?? validOf(properties[name]!)]),
    )
  }
  if (type === 'array') {
    return Array.from({ length: minItems }, () => (items === undefined ? '1' : validOf(items)))
  }
  if (type === 'boolean') return true
  if (schema.pattern === DIGITS) return '0'.repeat(32)
  return type === 'string' ? '1' : Math.max(1, schema.minimum ?? 1)
}

/** A value of a type that a schema does not take. */
function wrongOf({ type, enum: words, anyOf }: Schema): unknown {
  const types = [type ?? anyOf?.map((one) => one.type) ?? []].flat(2)
  if (words !== undefined) return 'no-such-word'
  return types.includes('object') || types.includes('array') || types.includes('string') ? 5 : 'no'
}
