import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bearerTokenOf } from '../../http/access/bearer.ts'
import type { AccessControl, AccessDecision } from '../../http/access/control.ts'
import type { Role } from '../../http/access/role.ts'
import { clientAddressOf } from '../../http/client-address.ts'
import '../../http/principal.ts'
import { sendProblem } from './error-handlers.ts'
import type { ObjectsOf } from './objects.ts'
import { type Problem, problemOf } from './problem.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Role that the route needs; `public` for none. @default `read` for GET and HEAD, else `write` */
    readonly role?: Role | 'public'
    /** Objects that the path and the query name, on which a token needs the right. @default none */
    readonly on?: ObjectsOf
    /** The word of the audit, of a route that changes something. */
    readonly change?: string
  }
}

/** Lets a request run only if its bearer token allows it. It decides before the body is read. */
export function addAuthorization(app: FastifyInstance, access: AccessControl): void {
  app.addHook('onRequest', (request, reply, done) => {
    const role = roleOf(request)
    if (role === 'public') return done()
    const token = bearerTokenOf(request.headers.authorization)
    const decide = (): void => authorize(request, reply, { token, role }, done)
    const proof = access.prove(token)
    if (proof === undefined) decide()
    else proof.then(decide).catch(done)
  })

  function authorize(
    request: FastifyRequest,
    reply: FastifyReply,
    { token, role }: { readonly token: string | undefined; readonly role: Role },
    done: () => void,
  ): void {
    const decision = access.authorize(token, role, {
      on: request.routeOptions.config.on?.(request),
      from: { remoteAddress: clientAddressOf(request) },
    })
    if (decision.kind !== 'unauthenticated') request.principal = decision.principal
    if (decision.kind === 'allowed') {
      done()
      return
    }
    const { problem, fields } = refusalOf(decision)
    void sendProblem(reply.headers(fields), problem)
  }
}

/** A problem, with the header fields that go with it. */
export interface Refusal {
  readonly problem: Problem
  readonly fields: Readonly<Record<string, string>>
}

/** The answer to a request that may not run. */
export function refusalOf(
  decision: Exclude<AccessDecision, { readonly kind: 'allowed' }>,
): Refusal {
  const problem = { ...problemOf(decision.error), status: decision.status }
  if (decision.kind === 'unauthenticated') {
    return { problem, fields: { 'www-authenticate': 'Bearer' } }
  }
  if (decision.kind === 'forbidden') return { problem, fields: {} }
  return {
    problem,
    fields: { 'retry-after': String(Math.ceil(decision.retryAfterMs / 1000)) },
  }
}

/** Path of the page to try the routes: a browser loads it without a token, and it holds no data. */
const PAGE = '/docs'

/** A path that does not exist needs the role that a route of its method would need. */
function roleOf({ method, routeOptions }: FastifyRequest): Role | 'public' {
  const { config, url } = routeOptions
  if (url === PAGE || url?.startsWith(`${PAGE}/`) === true) return 'public'
  const { role } = config
  return role ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'write')
}
