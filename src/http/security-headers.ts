import type { FastifyInstance } from 'fastify'
import { contentSecurityPolicy } from './content-security-policy.ts'
import { isLoopbackName } from './own-origin.ts'

/** Fields of every answer of every HTTP port: a browser takes it for what it says, runs nothing of it, and frames it nowhere. */
export const SECURITY_FIELDS_BY_NAME = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

/** The same as text, for answers that no framework writes. */
export const SECURITY_FIELDS: string = Object.entries(SECURITY_FIELDS_BY_NAME)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')

/** The page to try the routes has styles in its elements. */
const PAGE = {
  'content-security-policy': contentSecurityPolicy(["style-src 'self' 'unsafe-inline'"]),
  'referrer-policy': 'no-referrer',
} as const

/** A year. */
const STRICT_TRANSPORT = { 'strict-transport-security': 'max-age=31536000' } as const

/**
 * Adds the fields to all answers. With TLS a browser uses nothing else for this name any more, except for names of this
 * machine, where other programs may speak plain HTTP.
 */
export function addSecurityHeaders(app: FastifyInstance, hasTls: boolean): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_FIELDS_BY_NAME)
    if (/^\/docs(?:\/|$)/.test(request.routeOptions.url ?? '')) reply.headers(PAGE)
    if (hasTls && !isLoopbackName(request.host)) reply.headers(STRICT_TRANSPORT)
    done()
  })
}
