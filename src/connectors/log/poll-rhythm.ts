/** Intervals at which files are polled that may change without a notification, in ms. */
export interface PollRhythm {
  /** Right after a change. */
  readonly firstMs: number
  /** Longest interval while there is no watch. */
  readonly lastMs: number
  /** Longest interval while a watch reports changes: some file systems do not report all. */
  readonly watchedMs: number
}

/**
 * Time until the next poll, ms. `previousMs` is the interval before the last poll, which found nothing;
 * undefined right after a change. The longer nothing changes, the longer are the intervals.
 */
export function nextPollMs(
  rhythm: PollRhythm,
  previousMs: number | undefined,
  watched: boolean,
): number {
  if (previousMs === undefined) return rhythm.firstMs
  const longest = watched ? rhythm.watchedMs : rhythm.lastMs
  return Math.min(Math.max(2 * previousMs, rhythm.firstMs), longest)
}

/** Whether nothing has changed for so long that opening a watch pays off. */
export function isWatchDue(rhythm: PollRhythm, previousMs: number): boolean {
  return previousMs >= rhythm.lastMs
}
