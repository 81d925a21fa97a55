import type { DoorAttack } from './attack.ts'
import type { DoorProtocol } from './door.ts'
import { HTTP_ATTACKS } from './http-attacks.ts'
import { QUERY_ATTACKS } from './query-attacks.ts'

/** Attacks on a protocol, by name. */
export function attacksOf(protocol: DoorProtocol): Readonly<Record<string, DoorAttack>> {
  return protocol === 'http' ? HTTP_ATTACKS : QUERY_ATTACKS
}
