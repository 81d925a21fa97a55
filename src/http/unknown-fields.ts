import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { WeirError } from '../core/errors.ts'
import { nearestWord } from '../core/text/nearest-word.ts'
import { pathOf } from './known-paths.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Query parameters that the route reads without a schema. @default none */
    readonly query?: readonly string[]
  }
}

/** What begins the names of the header fields that only Weir reads. */
const OWN = 'weir-'

/** Longest name that a message shows. */
const SHOWN = 60

/**
 * Refuses query parameters that the route of a request does not read, and header fields of Weir that it does not obey,
 * with the nearest name: a request that is misspelt would be answered as if nothing had been asked. `schemaOf` is the
 * schema that names them; undefined for a page, whose parameters are its own affair. `everywhere` are fields that every
 * route obeys.
 */
export function refuseUnknownFields(
  app: FastifyInstance,
  schemaOf: (request: FastifyRequest) => FastifySchema | undefined,
  everywhere: readonly string[] = [],
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const parameters = Object.keys(request.query as object)
    const fields = ownFields(request.headers)
    if (parameters.length + fields.length > 0 && !request.is404) check(request, parameters, fields)
    done()
  })

  function check(
    request: FastifyRequest,
    parameters: readonly string[],
    fields: readonly string[],
  ): void {
    const schema = schemaOf(request)
    if (schema === undefined) return
    const { method, routeOptions } = request
    const place = `${method} ${pathOf(request.url).slice(0, SHOWN)}`
    const known = [...namesOf(schema.querystring), ...(routeOptions.config.query ?? [])]
    for (const name of parameters) {
      if (!known.includes(name)) throw unknown('query parameter', name, known, place)
    }
    const named = namesOf(schema.headers).filter((name) => name.startsWith(OWN))
    const obeyed = [...new Set([...named, ...everywhere])]
    for (const name of fields) {
      if (!obeyed.includes(name)) throw unknown('header field', name, obeyed, place)
    }
  }
}

function ownFields(headers: object): readonly string[] {
  const own: string[] = []
  for (const name in headers) if (name.startsWith(OWN)) own.push(name)
  return own
}

function namesOf(schema: unknown): readonly string[] {
  const { properties = {} } = (schema ?? {}) as { readonly properties?: object }
  return Object.keys(properties)
}

function unknown(kind: string, name: string, known: readonly string[], place: string): WeirError {
  const nearest = nearestWord(name, known)
  const advice =
    nearest === undefined
      ? `it takes ${known.length === 0 ? 'none' : known.join(', ')}`
      : `did you mean "${nearest}"?`
  return new WeirError(
    'INVALID_ARGUMENT',
    `${place} takes no ${kind} "${name.slice(0, SHOWN)}"; ${advice}`,
  )
}
