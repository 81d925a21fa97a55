/** An item of a list. */
export interface RescoredItem {
  readonly id: string
  readonly value: number
}

/** What a rescored list is for. */
export interface RescoredList {
  /** Name of the route: `recommend`, `recommendToMany`, `recommendToAnonymous`, `recommendWithContext` or `similarity`. */
  readonly route: string
  /** The users or items of the path, without strengths. */
  readonly ids: readonly string[]
  /** `rescorerParams` of the request; undefined where it has none. */
  readonly params: string | undefined
}

/**
 * Gives the items of a list other values, or leaves some out. `items` are the best ones, the best first, more than the
 * list has; the list is ordered by the values that come back.
 */
export type Rescorer = (
  items: readonly RescoredItem[],
  list: RescoredList,
) => readonly RescoredItem[] | Promise<readonly RescoredItem[]>
