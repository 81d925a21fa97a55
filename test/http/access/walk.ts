import { type AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { OBJECT_KINDS, parseRight } from '../../../src/http/access/object-rights.ts'
import { ROLES, type Role } from '../../../src/http/access/role.ts'
import type { TokenAttributes } from '../../../src/http/access/token.ts'
import { tokenOf } from './tokens.ts'

/** What a route or a command needs: a role, on objects such as `state:ALS_MODEL`; without objects on the process. */
export interface Needs {
  readonly role: Role | 'public'
  readonly on?: readonly string[]
}

/** What a client got: an answer, or the refusal of its token or of its rights. */
export type Outcome = 'answered' | 'unauthenticated' | 'denied'

/** A client with a token, and what it should get. */
export interface Walker {
  readonly title: string
  readonly token: string | undefined
  readonly expected: Outcome
}

/** Rights on other objects of every kind; names that only look alike, too. */
const FOREIGN = OBJECT_KINDS.flatMap((kind) => [
  `admin:${kind}:other`,
  `admin:${kind}:ALS_MODEL-2*`,
  `admin:${kind}:ALS_MODE`,
])

/** Makes clients with all kinds of tokens for a route, and lets `access` know their tokens. */
export function walkersOf(
  { role, on = [] }: Needs,
  access: AccessControl,
  nowMs: number,
): Walker[] {
  const walkers: Walker[] = []
  const records: ReturnType<typeof tokenOf>['record'][] = []
  const add = (title: string, attributes: Partial<TokenAttributes>, expected: Outcome): void => {
    const { text, record } = tokenOf(records.length + 1, attributes)
    records.push(record)
    walkers.push({ title, token: text, expected: role === 'public' ? 'answered' : expected })
  }
  const needed = role === 'public' ? 'read' : role
  const byRole = (own: Role): Outcome =>
    ROLES.indexOf(own) >= ROLES.indexOf(needed) ? 'answered' : 'denied'
  const withRights = (own: Role, rights: readonly string[]) => ({
    role: own,
    rights: rights.map(parseRight),
  })
  for (const own of ROLES) add(`a token of the role ${own}`, { role: own }, byRole(own))
  add('an expired token', { role: 'admin', expiresMs: nowMs }, 'unauthenticated')
  for (const own of ['read', 'admin'] as const) {
    const foreign = on.length === 0 ? byRole(own) : 'denied'
    add(`rights on other objects (${own})`, withRights(own, FOREIGN), foreign)
    add(`no rights (${own})`, withRights(own, []), foreign)
  }
  if (on.length > 0) {
    const own = on.map((object) => `${needed}:${object}`)
    add('the right', withRights('read', own), 'answered')
    add(
      'the right by prefix',
      withRights(
        'read',
        own.map((one) => `${one.slice(0, -1)}*`),
      ),
      'answered',
    )
    for (const one of own) {
      add(
        `without ${one}`,
        withRights(
          'admin',
          own.filter((other) => other !== one),
        ),
        'denied',
      )
    }
    if (needed !== 'read') {
      const weaker = on.map((object) => `${needed === 'admin' ? 'write' : 'read'}:${object}`)
      add('a weaker right', withRights('admin', weaker), 'denied')
    }
  }
  const refused = role === 'public' ? 'answered' : 'unauthenticated'
  walkers.push({ title: 'no token', token: undefined, expected: refused })
  walkers.push({ title: 'a bad token', token: tokenOf(99).text, expected: refused })
  access.replace(shareAccess(records))
  return walkers
}

/** The outcome of an HTTP answer. */
export function outcomeOf(status: number): Outcome {
  if (status === 401) return 'unauthenticated'
  return status === 403 ? 'denied' : 'answered'
}
