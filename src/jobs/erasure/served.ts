import type { WeirClient } from '../../client/weir-client.ts'
import { isWeirError } from '../../core/errors.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'
import { COUNTS_VERSION, KNOWN_ITEMS, USER_COUNTS } from '../histories/states.ts'
import type { Person } from './person.ts'

/** The reads that the search of a running job needs. */
export type ServedState = Pick<WeirClient, 'get'> & {
  readonly routing: { readonly states: readonly { readonly name: string }[] }
}

/** The versions in whose rows a running job has a person. */
export async function servedVersions(
  served: ServedState,
  person: Person,
  versions: readonly number[],
): Promise<readonly number[]> {
  if (!has(served, ALS_MODEL)) return []
  const found: number[] = []
  for (const version of versions) {
    if (await isThere(served, ALS_MODEL, person.rowKey, { version })) found.push(version)
  }
  return found
}

/** The states of histories in which a running job has a person. */
export async function servedHistories(
  served: ServedState,
  person: Person,
): Promise<readonly string[]> {
  const found: string[] = []
  const { user } = person
  if (has(served, KNOWN_ITEMS) && (await isThere(served, KNOWN_ITEMS, user, {}))) {
    found.push(KNOWN_ITEMS)
  }
  // Counts have one version, which is never made live.
  const counts = { version: COUNTS_VERSION }
  if (has(served, USER_COUNTS) && (await isThere(served, USER_COUNTS, user, counts))) {
    found.push(USER_COUNTS)
  }
  return found
}

function has({ routing }: ServedState, state: string): boolean {
  return routing.states.some(({ name }) => name === state)
}

async function isThere(
  served: ServedState,
  state: string,
  key: string,
  options: { readonly version?: number },
): Promise<boolean> {
  try {
    return (await served.get(state, key, options)) !== undefined
  } catch (error) {
    // A version that no job has loaded has no row.
    if (isWeirError(error, 'UNKNOWN_VERSION')) return false
    throw error
  }
}
