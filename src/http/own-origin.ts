import type { FastifyRequest } from 'fastify'
import { WeirError } from '../core/errors.ts'

/** Whether requests of a method change nothing. */
export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

/**
 * Whether a request is a read, or a change that no page of another site sends from a browser. Browsers say where a request
 * comes from in `Sec-Fetch-Site`, and to plain HTTP in `Origin` alone; other programs say nothing.
 */
export function isOwnOrigin({ method, headers, host }: FastifyRequest): boolean {
  if (isRead(method)) return true
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  return origin === undefined || URL.parse(origin)?.host === host
}

/** Throws ACCESS_DENIED for a change that a page of another site sends from a browser. */
export function requireOwnOrigin(request: FastifyRequest): void {
  if (isOwnOrigin(request)) return
  throw new WeirError('ACCESS_DENIED', 'a page of another site may not change anything here')
}

const LOOPBACK_NAME = /^(127\.[0-9.]+|\[::1\]|localhost)(:\d+)?$/i

/** Whether a `Host` field names this machine itself. */
export function isLoopbackName(host: string): boolean {
  return LOOPBACK_NAME.test(host)
}

/**
 * Throws ACCESS_DENIED where a port of this machine is addressed by another name: the name of a hostile
 * page that resolves to 127.0.0.1 would make the page part of this site.
 */
export function requireLoopbackName({ host }: FastifyRequest): void {
  if (isLoopbackName(host)) return
  throw new WeirError('ACCESS_DENIED', 'address this port as localhost, 127.0.0.1 or [::1]')
}
