/** An event of the tests. */
export interface Purchase {
  readonly user: number
  readonly film: string
  readonly price: number
  readonly time: number
}

/** What a feature is by its definition, from a list of all events: the measure of the tests. */
export interface PlainWindow {
  readonly windowMs: number
  /** Tiles of the window. */
  readonly tiles: number
}

/** The events of a window that is read at a time: from the tile of its oldest edge on. */
export function inWindow(
  events: readonly Purchase[],
  { windowMs, tiles }: PlainWindow,
  at: number,
): readonly Purchase[] {
  const tileMs = Math.max(1000, Math.ceil(windowMs / tiles))
  const from = Math.floor((at - windowMs) / tileMs) * tileMs
  return events.filter(({ time }) => time >= from)
}

/** The number of a rank, as numpy.quantile(method='lower') has it. */
export function lowerQuantile(numbers: readonly number[], q: number): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.floor(q * (sorted.length - 1))]!
}
