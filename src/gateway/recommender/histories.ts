import { isWeirError, WeirError } from '../../core/errors.ts'
import { readableValue } from '../../core/formats/readable-value.ts'
import { MEAN_ID } from '../../models/mean-id.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import type { ServedState } from '../port/services.ts'
import type { IdCount } from './listing.ts'

/** State of the `histories` job with the items of each user. */
export const KNOWN_ITEMS = 'KNOWN_ITEMS'
/** States of the counts of users and items. */
export const COUNTS = { users: 'USER_COUNTS', items: 'ITEM_COUNTS' } as const
/** Version of the rows of counts. */
const COUNTS_VERSION = 1
/** Product of the query and a count: the count itself. */
const ONE = Float32Array.of(1)

/** Histories of users: the items that each user rated, and who and what has most ratings. */
export class Histories {
  private readonly state: ServedState

  constructor(state: ServedState) {
    this.state = state
  }

  /** The items that a user rated, with the ratings; none for a user without ratings. */
  async knownItems(
    user: string,
    { deadlineMs }: QueryOptions,
  ): Promise<ReadonlyMap<string, number>> {
    const [answer] = await this.state.values(KNOWN_ITEMS, [user], deadlineOf(deadlineMs))
    if (answer!.ok) {
      const items = readableValue(answer!.value, { kind: 'map' }) as readonly [string, number][]
      // A history from before this id was refused may have it.
      return new Map(items.filter(([item]) => item !== MEAN_ID))
    }
    if (isWeirError(answer!.error, 'UNKNOWN_KEY')) return new Map()
    throw answer!.error
  }

  /** The users with most items, or the items with most users. */
  async largestCounts(
    of: keyof typeof COUNTS,
    { howMany, offset }: { readonly howMany: number; readonly offset: number },
    { deadlineMs }: QueryOptions,
  ): Promise<readonly IdCount[]> {
    const answer = await this.state.topK(COUNTS[of], ONE, {
      ...deadlineOf(deadlineMs),
      version: COUNTS_VERSION,
      k: howMany + offset,
    })
    if (!answer.ok) throw answer.error
    return answer.value.slice(offset).map(({ key, score }) => ({ id: key, count: score }))
  }
}

/** Positions and versions of a request are those of another job: only its deadline holds here. */
function deadlineOf(deadlineMs: number | undefined): QueryOptions {
  return deadlineMs === undefined ? {} : { deadlineMs }
}

/** Whether a job has the states of histories. */
export function hasHistories({ routing }: ServedState): boolean {
  return routing.states.some(({ name }) => name === KNOWN_ITEMS)
}

/** The error of a route that needs histories where there are none. */
export function noHistories(): WeirError {
  return new WeirError(
    'UNSUPPORTED',
    'this gateway has no histories of users; run "weir run histories --listen 9070" and start the gateway with --histories 127.0.0.1:9070',
  )
}
