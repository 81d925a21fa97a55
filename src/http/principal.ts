import type { FastifyRequest } from 'fastify'
import { mayOn, requireOn, shareHolderOf } from './access/control.ts'
import type { AccessObject } from './access/object-rights.ts'
import type { Role } from './access/role.ts'
import type { Principal } from './access/token-verifier.ts'
import { clientAddressOf } from './client-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Holder of the token; undefined where no token is needed. */
    principal?: Principal
  }
}

/** Whether the client may do what `needed` asks for with an object, of which only the handler knows. */
export function mayOf({ principal }: FastifyRequest, needed: Role, object: AccessObject): boolean {
  return principal === undefined || mayOn(principal, needed, object)
}

/** Throws ACCESS_DENIED, unless `mayOf`. */
export function requireMayOf(request: FastifyRequest, needed: Role, object: AccessObject): void {
  if (request.principal !== undefined) requireOn(request.principal, needed, object)
}

/** As `shareHolderOf`, of the client of a request. */
export function sharerOf(request: FastifyRequest): string | undefined {
  return shareHolderOf(request.principal, clientAddressOf(request))
}
