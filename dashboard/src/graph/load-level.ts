/** Load of a vertex: shares of time between 0 and 1. */
export interface Load {
  readonly busy: number
  readonly backPressured: number
}

/** How a vertex is shown: each level has a colour and a word, so that no one depends on the colour. */
export type LoadLevel = 'quiet' | 'busy' | 'overloaded' | 'held-up'

/** Share of time from which a vertex counts as held up by the next one; Flink's level `low` begins there. */
const HELD_UP = 0.1
/** Shares of time from which a vertex counts as busy, and as having no time left. */
const BUSY = 0.5
const OVERLOADED = 0.9

/** Level of a vertex. Back-pressure comes first: the cause is further down in the graph. */
export function loadLevel({ busy, backPressured }: Load): LoadLevel {
  if (backPressured > HELD_UP) return 'held-up'
  if (busy >= OVERLOADED) return 'overloaded'
  return busy >= BUSY ? 'busy' : 'quiet'
}

/** The words for each level. */
export const LEVEL_TEXT: Readonly<Record<LoadLevel, string>> = {
  quiet: 'has time left',
  busy: 'busy',
  overloaded: 'no time left',
  'held-up': 'back-pressured',
}
