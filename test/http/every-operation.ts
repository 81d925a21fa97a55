import type { FastifyInstance } from 'fastify'

/** A parameter of an operation of an OpenAPI document. */
interface Parameter {
  readonly in: string
  readonly name: string
}

/** An operation of the OpenAPI document of a port, with a path that its route takes. */
export interface Sample {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly query: readonly string[]
  readonly headers: readonly string[]
}

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly parameters?: readonly Parameter[] }>>>
  >
}

/** Every operation of the document of a port; `places` gives the parts of paths by name. */
export async function everyOperation(
  app: FastifyInstance,
  places: Readonly<Record<string, string>>,
): Promise<readonly Sample[]> {
  const { paths } = (await app.inject({ url: '/openapi.json' })).json<Document>()
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [] }]) => {
      const named = (place: string): readonly string[] =>
        parameters.filter((parameter) => parameter.in === place).map(({ name }) => name)
      return {
        method: method.toUpperCase() as Sample['method'],
        url: path.replace(/\{(\w+)\}/g, (_, name: string) => places[name] ?? '1'),
        query: named('query'),
        headers: named('header'),
      }
    }),
  )
}
