import {
  type MapStateDescriptor,
  mapState,
  type VectorStateDescriptor,
  vectorState,
} from '../../state/port/descriptors.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../state/port/key-length.ts'

/** Uid of the operator that keeps the items of each user. */
export const KNOWN_ITEMS_UID = 'known-items'
/** Queryable map: the items that each user rated, with the last rating. */
export const KNOWN_ITEMS = 'KNOWN_ITEMS'
/** Queryable rows of one float: the number of items that each user rated. */
export const USER_COUNTS = 'USER_COUNTS'
/** Queryable rows of one float: the number of users that rated each item. */
export const ITEM_COUNTS = 'ITEM_COUNTS'
/** Version of the rows of counts: they have no others. */
export const COUNTS_VERSION = 1

/** The items of the current user with their ratings. */
export const KNOWN_ITEMS_STATE: MapStateDescriptor<string, number> = mapState('known-items', {
  queryableName: KNOWN_ITEMS,
})

/** Counts by key of at most `maxKeyBytes`, as rows: a top-k with the query [1] finds the largest. */
export function countsState(
  queryableName: typeof USER_COUNTS | typeof ITEM_COUNTS,
  maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES,
): VectorStateDescriptor {
  return vectorState('counts', { queryableName, dimension: 1, maxKeyBytes })
}
