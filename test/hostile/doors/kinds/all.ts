import type { DoorProtocol } from '../door.ts'
import type { DoorAttack } from './attack.ts'
import { GRPC_ATTACKS } from './grpc-attacks.ts'
import { HTTP_ATTACKS } from './http-attacks.ts'
import { QUERY_ATTACKS } from './query-attacks.ts'

type Attacks = Readonly<Record<string, DoorAttack>>

const ATTACKS: Readonly<Record<DoorProtocol, Attacks>> = {
  http: HTTP_ATTACKS,
  query: QUERY_ATTACKS,
  grpc: GRPC_ATTACKS,
}

/** Attacks on a protocol, by name. */
export function attacksOf(protocol: DoorProtocol): Attacks {
  return ATTACKS[protocol]
}

/** Names of all attacks on doors. */
export const DOOR_ATTACKS: readonly string[] = [
  ...new Set(Object.values(ATTACKS).flatMap((attacks) => Object.keys(attacks))),
]
