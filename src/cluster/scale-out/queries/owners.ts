import type { QueryEndpoint } from '../../../wire/routing-table.ts'
import type { OwnerMap } from '../decisions/assignment-data.ts'
import { queryEndpointOf } from './query-way.ts'

/** Who answers for the job partitions in one generation of the group; the same in all processes of the generation. */
export interface Owners {
  /** Generation of the group; 0 before the first. */
  readonly epoch: number
  readonly partitions: number
  /** The query ports of all processes that have one. */
  readonly endpoints: readonly QueryEndpoint[]
  /** By job partition, the place of its owner's port in `endpoints`; -1 where it has none. */
  readonly owners: readonly number[]
}

/** The owners in a process that no generation has begun for. */
export function noOwners(partitions: number): Owners {
  return { epoch: 0, partitions, endpoints: [], owners: new Array<number>(partitions).fill(-1) }
}

/** The owners of a generation by the map of its assignment. */
export function ownersOf(epoch: number, { addresses, owners }: OwnerMap): Owners {
  const endpoints: QueryEndpoint[] = []
  const places = addresses.map((address) => {
    const endpoint = queryEndpointOf(address)
    return endpoint === undefined ? -1 : endpoints.push(endpoint) - 1
  })
  return {
    epoch,
    partitions: owners.length,
    endpoints,
    owners: owners.map((place) => (place < 0 ? -1 : places[place]!)),
  }
}

/** The query port of a job partition's owner; undefined where it has no owner, or one without a port. */
export function ownerOf(
  { owners, endpoints }: Owners,
  partition: number,
): QueryEndpoint | undefined {
  return endpoints[owners[partition] ?? -1]
}
