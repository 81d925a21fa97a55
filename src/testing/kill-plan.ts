import type { Random } from '../core/random.ts'

/** A checkpoint and the kill after it, as numbers of events that have happened before. */
export interface Kill {
  /** 0: there is no checkpoint, and the job begins again. */
  readonly checkpoint: number
  /** At least `checkpoint`; one more than there are events: after the end of input. */
  readonly kill: number
}

const MOST_KILLS = 4

/** Draws one to four kills of a run over so many events, in the order in which they happen. */
export function drawKills(random: Random, events: number): readonly Kill[] {
  const kills = 1 + random.below(MOST_KILLS)
  const moments = Array.from({ length: 2 * kills }, () => random.below(events + 2)).sort(
    (a, b) => a - b,
  )
  return Array.from({ length: kills }, (_, i) => ({
    checkpoint: Math.min(moments[2 * i]!, events),
    kill: moments[2 * i + 1]!,
  }))
}
