/**
 * Roles of a token, from the weakest to the strongest; each may do what the roles before it may.
 * `read`: query state, metrics and status. `write`: also send observations and records. `admin`: also
 * change jobs, models and configuration.
 */
export const ROLES = ['read', 'write', 'admin'] as const

/** Role of a token. */
export type Role = (typeof ROLES)[number]

/** Whether a token with `role` may do what `needed` asks for. */
export function mayActAs(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}
