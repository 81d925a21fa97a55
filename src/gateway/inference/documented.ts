import type { FastifyRequest, FastifySchema } from 'fastify'
import type { Role } from '../../http/access/role.ts'
import { requireValidBody } from '../../http/validation.ts'
import type { ObjectsOf } from '../http/objects.ts'
import { objectOf } from './message.ts'

/** A body of JSON, as documents describe it. */
interface DocumentedBody {
  readonly content: { readonly 'application/json': { readonly schema: object } }
}

/** What the document and the access say of a route. */
interface RouteExtras {
  readonly role?: Role | 'public'
  /** Objects that the path and the query name. @default none */
  readonly on?: ObjectsOf
  /** The word of the audit, of a route that changes something. */
  readonly change?: string
  /** Statuses of problems that only this route has. */
  readonly problems?: readonly number[]
  readonly hasOptionalBody?: boolean
  /** Largest body in bytes. @default that of the gateway */
  readonly bodyLimit?: number
}

/**
 * Options of a route whose requests and answers are described, but not validated or serialized by a schema:
 * the protocol has rules that no schema has.
 */
export function documented(
  summary: string,
  schema: FastifySchema,
  { role, on, change, bodyLimit, ...document }: RouteExtras = {},
) {
  return {
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    config: {
      ...(role === undefined ? {} : { role }),
      ...(on === undefined ? {} : { on }),
      ...(change === undefined ? {} : { change }),
      document: { schema, ...document },
    },
    schema: { tags: ['inference'], summary },
  }
}

/** The object of a body of JSON that is what its document says. Throws INVALID_ARGUMENT, FRAME_TOO_LARGE. */
export function documentedJson<T = Readonly<Record<string, unknown>>>(
  request: FastifyRequest,
  { content }: DocumentedBody,
  bytes: Buffer,
): T {
  const json = objectOf(bytes)
  requireValidBody(request, content['application/json'].schema, json)
  return json as T
}
