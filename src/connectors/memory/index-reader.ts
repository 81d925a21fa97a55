import type {
  PollResult,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../../operators/port/source.ts'

/** A split whose offsets are indexes of its records. */
export interface IndexSplit {
  readonly partition: number
  nextOffset: number
}

/** Reader of records by their index: shares each poll among its splits, and sleeps without input. */
export abstract class IndexReader<T, S extends IndexSplit> implements SourceReader<T> {
  protected readonly splits: S[] = []
  /** Polls so far; they choose the split that is read first. */
  private first = 0
  private wake: (() => void) | undefined

  abstract open(context: SourceReaderContext): Promise<void>
  abstract addSplits(splits: readonly SourceSplit[]): Promise<void>
  abstract poll(output: SourceOutput<T>, maxRecords: number): PollResult
  abstract available(): Promise<void>

  /** Delivers records of one split, at most `max`, and moves its offset. */
  protected abstract deliver(split: S, output: SourceOutput<T>, max: number): void

  /** Delivers at most `max` records of all splits; returns how many. */
  protected deliverAll(output: SourceOutput<T>, max: number): number {
    let left = max
    const { splits } = this
    const first = this.first++ % Math.max(1, splits.length)
    for (let i = 0; i < splits.length; i++) {
      const split = splits[(first + i) % splits.length]!
      const before = split.nextOffset
      this.deliver(split, output, Math.ceil(left / (splits.length - i)))
      left -= split.nextOffset - before
      if (split.nextOffset > before) output.progress(split.partition, split.nextOffset)
    }
    return max - left
  }

  /** Resolves at the next `wakeUp`. */
  protected sleep(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve
    })
  }

  protected wakeUp(): void {
    this.wake?.()
    this.wake = undefined
  }

  snapshot(): SourceSplit[] {
    return this.splits.map(({ partition, nextOffset }) => ({ partition, nextOffset }))
  }

  checkpointCompleted(_checkpointId: number): void {
    // Only the checkpoint stores offsets.
  }

  close(): Promise<void> {
    this.wakeUp()
    return Promise.resolve()
  }
}
