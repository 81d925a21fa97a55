import AjvCompiler from '@fastify/ajv-compiler'
import type { FastifyServerOptions } from 'fastify'

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
  return (route: { readonly httpPart?: string }) =>
    (route.httpPart === 'body' ? strict : converting)(route as never)
}) as BuildValidator

/** Validation of requests: a body of JSON has types, so that the id `1592` is no text. */
export const VALIDATION: Pick<
  FastifyServerOptions,
  'ajv' | 'schemaController' | 'schemaErrorFormatter'
> = {
  // A number of the path stays a text: the id "1" and the id "01" are two. `verbose`: errors have the value.
  ajv: { customOptions: { coerceTypes: 'array', removeAdditional: false, verbose: true } },
  schemaController: { compilersFactory: { buildValidator } },
  schemaErrorFormatter: (errors, part) => {
    const [error] = errors
    if (error === undefined) return new Error(`the ${part} is not valid`)
    const place = `${part}${error.instancePath}`
    const { data, parentSchema } = error as {
      readonly data?: unknown
      readonly parentSchema?: { readonly description?: string }
    }
    if (error.keyword !== 'pattern') return new Error(`${place} ${error.message ?? 'is not valid'}`)
    const shown = JSON.stringify(data)?.slice(0, SHOWN)
    return new Error(`${place} cannot be ${shown}. ${parentSchema?.description ?? error.message}`)
  },
}
