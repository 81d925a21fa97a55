import { WeirError } from '../core/errors.ts'
import type { StateDescriptor } from './descriptors.ts'
import type { StateDeclaration } from './state-change.ts'

/** Marks formats whose values start with an expiry time. */
const TTL_SUFFIX = '+ttl'

/** What is stored in a checkpoint about a typed state, and compared at restore. */
export function declarationOf(
  descriptor: Exclude<StateDescriptor, { kind: 'vector' }>,
): StateDeclaration {
  const { kind, name, serializer } = descriptor
  const values = kind === 'map' ? `${descriptor.keySerializer.id}->${serializer.id}` : serializer.id
  return { name, kind, format: descriptor.ttl === undefined ? values : values + TTL_SUFFIX }
}

/** The declaration of a timer queue; the prefix keeps it apart from states of the same name. */
export function timersDeclaration(queue: string): StateDeclaration {
  return { name: `timers:${queue}`, kind: 'timers', format: 'timestamp-key-namespace/1' }
}

/** Whether values of this format start with an expiry time. */
export function hasExpiry(format: string): boolean {
  return format.endsWith(TTL_SUFFIX)
}

/** Throws STATE_CONFLICT unless both say the same about a state. */
export function requireSameDeclaration(
  declared: StateDeclaration,
  known: StateDeclaration,
  operatorUid: string,
): void {
  if (declared.kind === known.kind && declared.format === known.format) return
  throw new WeirError(
    'STATE_CONFLICT',
    `state "${declared.name}" of operator "${operatorUid}" is declared as ${declared.kind} ` +
      `(${declared.format}) but exists as ${known.kind} (${known.format}); use another name or ` +
      'keep kind, serializer and time to live',
    { details: { state: declared.name, operator: operatorUid } },
  )
}
