import { requireArgument } from '../../core/errors.ts'
import { mayActAs, ROLES, type Role } from './role.ts'

/**
 * Kinds of objects that a token may have rights on. `model`: a model of any kind, and the versions of one. `state`: a
 * queryable state. `topic`: a topic that a port writes to, or that a submission names. `job`: a job, by its
 * name or its id.
 */
export const OBJECT_KINDS = ['model', 'state', 'topic', 'job'] as const

/** Kind of an object that a token may have rights on. */
export type ObjectKind = (typeof OBJECT_KINDS)[number]

/** An object that a request is about. */
export interface AccessObject {
  readonly kind: ObjectKind
  /** Undefined where the request names it in its body, which is not read yet: the token may act on one at least. */
  readonly name: string | undefined
}

/** What a token may do with the objects of one name, or with those whose names begin so. */
export interface ObjectRight {
  readonly role: Role
  readonly kind: ObjectKind
  readonly name: string
  /** Whether `name` is only the beginning of names. */
  readonly isPrefix: boolean
}

/** The strongest role that some rights give on an object; undefined for none. */
export function roleOn(rights: readonly ObjectRight[], object: AccessObject): Role | undefined {
  let strongest: Role | undefined
  for (const right of rights) {
    if (!concerns(right, object)) continue
    if (strongest === undefined || mayActAs(right.role, strongest)) strongest = right.role
  }
  return strongest
}

function concerns({ kind, name, isPrefix }: ObjectRight, object: AccessObject): boolean {
  if (kind !== object.kind) return false
  if (object.name === undefined) return true
  return isPrefix ? object.name.startsWith(name) : object.name === name
}

/** A model by its name, which an alias may follow: `ocr@stable`. */
export function modelObject(name: string): AccessObject {
  const at = name.indexOf('@')
  return { kind: 'model', name: at < 0 ? name : name.slice(0, at) }
}

const RIGHT = new RegExp(
  `^(${ROLES.join('|')}):(${OBJECT_KINDS.join('|')}):([^\\p{Cc}*]*)(\\*?)$`,
  'u',
)
const MOST_NAME = 1024

/**
 * Reads a right: `read:model:fraud` of one object, `write:topic:ratings-*` of all whose names begin so. Throws
 * INVALID_ARGUMENT.
 */
export function parseRight(text: string): ObjectRight {
  const [, role, kind, name = '', star] = RIGHT.exec(text) ?? []
  const isPrefix = star === '*'
  requireArgument(
    (name !== '' || isPrefix) && name.length <= MOST_NAME,
    `the right "${text.slice(0, 100)}" is not ROLE:KIND:NAME, such as read:model:fraud or write:topic:ratings-*; roles are ${ROLES.join(', ')}, kinds ${OBJECT_KINDS.join(', ')}; a "*" may only end the name`,
  )
  return { role: role as Role, kind: kind as ObjectKind, name, isPrefix }
}

/** The text that `parseRight` reads. */
export function rightText({ role, kind, name, isPrefix }: ObjectRight): string {
  return `${role}:${kind}:${name}${isPrefix ? '*' : ''}`
}
