/**
 * Which channels of a subtask still bring records that their sources had at the start. A source says once that it has sent
 * them all, on each channel, behind them; a channel that has ended has brought them, too.
 */
export class LoadedSources {
  /** By channel: numbers of the sources that have not said it. */
  private readonly missing: readonly Set<number>[]

  /** `sources`: by channel, the numbers of the sources whose records it carries. */
  constructor(sources: readonly (readonly number[])[]) {
    this.missing = sources.map((numbers) => new Set(numbers))
  }

  /** Whether the channel has brought all records that its sources had at the start. */
  isLoaded(channel: number): boolean {
    return this.missing[channel]!.size === 0
  }

  /** A source has said it on a channel; returns whether it has now said it on all that carry its records. */
  loaded(channel: number, source: number): boolean {
    return this.missing[channel]!.delete(source) && !this.isMissing(source)
  }

  /** A channel has ended; returns the sources that have thereby said it on all that carry their records. */
  ended(channel: number): readonly number[] {
    const sources = [...this.missing[channel]!]
    this.missing[channel]!.clear()
    return sources.filter((source) => !this.isMissing(source))
  }

  private isMissing(source: number): boolean {
    return this.missing.some((sources) => sources.has(source))
  }
}
