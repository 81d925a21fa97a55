/** How often something is looked at that may change without saying so, in ms. */
export interface LookRhythm {
  /** Right after a change. */
  readonly firstMs: number
  /** Longest time between two looks where only looking tells. */
  readonly lastMs: number
  /** The same while a watch tells of changes: for file systems whose watches miss some. */
  readonly watchedMs: number
}

/**
 * Time until the next look, ms. `previousMs` is the time before the last look, which found nothing;
 * undefined right after a change. The longer nothing changes, the rarer are the looks.
 */
export function nextLookMs(
  rhythm: LookRhythm,
  previousMs: number | undefined,
  watched: boolean,
): number {
  if (previousMs === undefined) return rhythm.firstMs
  const longest = watched ? rhythm.watchedMs : rhythm.lastMs
  return Math.min(Math.max(2 * previousMs, rhythm.firstMs), longest)
}

/** Whether it has been quiet for so long that a watch is worth its opening and closing. */
export function isWatchDue(rhythm: LookRhythm, previousMs: number): boolean {
  return previousMs >= rhythm.lastMs
}
