import { WeirError } from '../../core/errors.ts'
import type { AccessObject } from './object-rights.ts'
import type { Role } from './role.ts'
import type { Principal } from './token-verifier.ts'

/** The error of a request above the rate of its token. */
export function limitedError(retryAfterMs: number): WeirError {
  const waitMs = Math.ceil(retryAfterMs)
  return new WeirError(
    'OVERLOADED',
    `the token has used up its rate of requests; try again after ${waitMs} ms`,
    { details: { retryAfterMs: waitMs } },
  )
}

/** The error of a request without a valid token. */
export function unauthenticatedError(token: string | undefined): WeirError {
  const what = token === undefined || token === '' ? 'missing' : 'wrong, expired or revoked'
  return new WeirError(
    'UNAUTHENTICATED',
    `the token is ${what}; give one that "weir token create" has printed`,
  )
}

/** The error of a request that needs a stronger role. */
export function roleError({ id, role }: Principal, needed: Role): WeirError {
  return new WeirError(
    'ACCESS_DENIED',
    `token ${id} has the role "${role}"; this needs "${needed}"`,
    { details: { role, needed } },
  )
}

/** The error of a request about an object that a token has not the right on. */
export function rightError(
  { id }: Principal,
  needed: Role,
  { kind, name }: AccessObject,
): WeirError {
  const what = name === undefined ? `any ${kind}` : `the ${kind} "${name.slice(0, 100)}"`
  const right = `${needed}:${kind}:${(name ?? 'NAME').slice(0, 100)}`
  return new WeirError(
    'ACCESS_DENIED',
    `token ${id} has not the right "${needed}" on ${what}; it needs the right ${right}`,
    { details: { needed, kind } },
  )
}
