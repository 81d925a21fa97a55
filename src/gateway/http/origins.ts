import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { WeirError } from '../../core/errors.ts'
import { isOwnOrigin, requireLoopbackName } from '../../http/own-origin.ts'
import { SESSION_HEADER } from './session.ts'

/** Which pages may use a port. */
export interface OriginOptions {
  /** Origins whose pages may, such as `https://app.example.com`; `*` is every one. @default none but the port itself */
  readonly allowedOrigins?: readonly string[] | undefined
  /** Refuses requests that name another host than this machine, as those of a page with a name that resolves to it do. @default false */
  readonly onlyLoopbackNames?: boolean
}

/** Every origin. */
export const ANY_ORIGIN = '*'

/** Methods of the routes. */
const METHODS = 'GET, HEAD, POST, PUT, DELETE'
/** Fields of all answers that a page may read, besides those that it always may. */
const EXPOSED = [SESSION_HEADER, 'retry-after', 'www-authenticate']
/** Time for which a browser may keep an answer about a method and its fields, s. */
const KEPT_S = 600
/** Characters of an origin that a message shows. */
const SHOWN = 200

/**
 * Lets pages of other origins use the port, as the protocol of browsers for it (CORS, WHATWG Fetch 3.2) has it, and refuses
 * what a browser sends for any other page. It asks for no cookies: who a page asks for is in the token that it sends.
 * `fields`: those of answers that pages may read, too.
 */
export function addOrigins(
  app: FastifyInstance,
  { allowedOrigins = [], onlyLoopbackNames = false }: OriginOptions,
  fields: readonly string[] = [],
): void {
  const exposed = [...fields, ...EXPOSED].join(', ')
  const isAny = allowedOrigins.includes(ANY_ORIGIN)
  const allowed = new Set(allowedOrigins)
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && (isAny || allowed.has(origin))
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    if (onlyLoopbackNames) requireLoopbackName(request)
    // An answer for one page is not one for another, also where something between keeps it.
    if (allowed.size > 0 && !isAny) varyBy(reply, 'origin')
    if (isAllowed(origin)) {
      reply.header('access-control-allow-origin', isAny ? ANY_ORIGIN : origin)
      if (isQuestion(request)) return void answerQuestion(request, reply)
      reply.header('access-control-expose-headers', exposed)
    } else if (isQuestion(request) || !isOwnOrigin(request)) throw refused(origin)
    done()
  })
}

/** Adds a field of the request to those that an answer depends on. */
export function varyBy(reply: FastifyReply, field: string): void {
  const known = reply.getHeader('vary')
  reply.header('vary', known === undefined ? field : `${String(known)}, ${field}`)
}

/** Whether a browser asks what a page of another origin may send, before it sends it. */
const isQuestion = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined

/** Any field may be sent: routes refuse those that they do not know, with a reason. */
function answerQuestion({ headers }: FastifyRequest, reply: FastifyReply): void {
  const fields = headers['access-control-request-headers']
  varyBy(reply, 'access-control-request-headers')
  if (fields !== undefined) reply.header('access-control-allow-headers', fields)
  reply.headers({
    'access-control-allow-methods': METHODS,
    'access-control-max-age': String(KEPT_S),
  })
  void reply.code(204).send()
}

function refused(origin: string | undefined): WeirError {
  const pages = origin === undefined ? 'its origin' : origin.slice(0, SHOWN)
  const message = `a page of another site may not change anything here; to let pages of ${pages} in, start the server with --allow-origin`
  return new WeirError('ACCESS_DENIED', message)
}
