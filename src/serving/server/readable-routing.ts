import { mayOn } from '../../http/access/control.ts'
import type { Principal } from '../../http/access/token-verifier.ts'
import { MODEL_KIND, type QueryableStateInfo, type RoutingTable } from '../../wire/routing-table.ts'

/** The routing table with the states and models that the holder of a token may read. */
export function readableRouting(
  table: RoutingTable,
  principal: Principal | undefined,
): RoutingTable {
  if (principal?.rights === undefined) return table
  return { ...table, states: table.states.filter((info) => mayRead(principal, info)) }
}

function mayRead(principal: Principal, { name, kind }: QueryableStateInfo): boolean {
  return mayOn(principal, 'read', { kind: kind === MODEL_KIND ? 'model' : 'state', name })
}
