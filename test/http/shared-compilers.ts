import serializerCompiler from '@fastify/fast-json-stringify-compiler'
import type { FastifyServerOptions } from 'fastify'
import { buildValidator } from '../../src/http/validation.ts'

type Compilers = NonNullable<
  NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']
>

/** The same compiler, which compiles equal schemas once. */
function remembering<A extends unknown[], R>(compile: (...args: A) => R): (...args: A) => R {
  const results = new Map<string, R>()
  return (...args) => {
    const key = JSON.stringify(
      args.map((arg) => {
        const { schema, httpPart } = arg as {
          readonly schema?: unknown
          readonly httpPart?: string
        }
        return [schema, httpPart]
      }),
    )
    if (!results.has(key)) results.set(key, compile(...args))
    return results.get(key)!
  }
}

/** The same factory, with one compiler for equal options. */
function sharing<A extends unknown[], B extends unknown[], R>(
  factory: (...options: A) => (...args: B) => R,
): (...options: A) => (...args: B) => R {
  const compilers = new Map<string, (...args: B) => R>()
  return (...options) => {
    const key = JSON.stringify(options)
    if (!compilers.has(key)) compilers.set(key, remembering(factory(...options)))
    return compilers.get(key)!
  }
}

/**
 * The compilers of schemas, shared by all gateways and REST applications of the process. Compiling the schemas
 * of each again takes longer than most of their tests.
 */
export const SHARED_COMPILERS: Compilers = {
  buildValidator: sharing(buildValidator) as NonNullable<Compilers['buildValidator']>,
  buildSerializer: sharing(serializerCompiler()),
}
