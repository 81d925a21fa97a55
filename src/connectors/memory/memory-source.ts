import { requireArgument } from '../../core/errors.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import type {
  PollResult,
  Source,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../../operators/source.ts'

/** How a `MemorySource` behaves beside delivering its arrays. */
export interface MemorySourceOptions<T> {
  /** Event time of a value in ms; default none. */
  readonly timestampOf?: (value: T) => number
  /** When false the source stays open after the last record; default true. */
  readonly bounded?: boolean
  /**
   * Called before each record is delivered; what it throws is thrown by `poll`, as a crash of the
   * source would be.
   */
  readonly beforeRecord?: (partition: number, offset: number) => void
  /** Most records of one poll, so that tests see many; default as asked. */
  readonly maxPerPoll?: number
}

/** A source over arrays: partition `p` is `partitions[p]`, the offset is the index. */
export class MemorySource<T> implements Source<T> {
  readonly boundedness: 'bounded' | 'unbounded'
  readonly discoveryIntervalMs: number | undefined = undefined
  private readonly partitions: readonly (readonly T[])[]
  private readonly options: MemorySourceOptions<T>

  constructor(partitions: readonly (readonly T[])[], options: MemorySourceOptions<T> = {}) {
    requireArgument(partitions.length > 0, 'a MemorySource needs at least one partition')
    this.partitions = partitions
    this.options = options
    this.boundedness = options.bounded === false ? 'unbounded' : 'bounded'
  }

  discover(): Promise<readonly number[]> {
    return Promise.resolve(this.partitions.map((_, partition) => partition))
  }

  createReader(): SourceReader<T> {
    return new MemorySourceReader(this.partitions, this.options)
  }
}

interface MemorySplit {
  readonly partition: number
  nextOffset: number
}

class MemorySourceReader<T> implements SourceReader<T> {
  private readonly partitions: readonly (readonly T[])[]
  private readonly options: MemorySourceOptions<T>
  private readonly splits: MemorySplit[] = []
  private wake: (() => void) | undefined

  constructor(partitions: readonly (readonly T[])[], options: MemorySourceOptions<T>) {
    this.partitions = partitions
    this.options = options
  }

  open(_context: SourceReaderContext): Promise<void> {
    return Promise.resolve()
  }

  addSplits(splits: readonly SourceSplit[]): Promise<void> {
    for (const { partition, nextOffset } of splits) {
      this.splits.push({ partition, nextOffset: Math.max(nextOffset, 0) })
    }
    this.wakeUp()
    return Promise.resolve()
  }

  poll(output: SourceOutput<T>, maxRecords: number): PollResult {
    let left = Math.min(maxRecords, this.options.maxPerPoll ?? maxRecords)
    for (const split of this.splits) {
      const delivered = this.pollSplit(split, output, left)
      left -= delivered
      if (delivered > 0) output.progress(split.partition, split.nextOffset)
    }
    if (this.remaining()) return 'more'
    return this.options.bounded === false ? 'idle' : 'ended'
  }

  private pollSplit(split: MemorySplit, output: SourceOutput<T>, max: number): number {
    const values = this.partitions[split.partition] ?? []
    const { timestampOf, beforeRecord } = this.options
    let delivered = 0
    while (delivered < max && split.nextOffset < values.length) {
      const offset = split.nextOffset
      beforeRecord?.(split.partition, offset)
      const value = values[offset]!
      split.nextOffset = offset + 1
      delivered += 1
      output.collect(value, timestampOf?.(value) ?? NO_TIMESTAMP, split.partition, offset)
    }
    return delivered
  }

  private remaining(): boolean {
    return this.splits.some(
      ({ partition, nextOffset }) => nextOffset < (this.partitions[partition]?.length ?? 0),
    )
  }

  available(): Promise<void> {
    if (this.remaining() || this.options.bounded !== false) return Promise.resolve()
    return new Promise((resolve) => {
      this.wake = resolve
    })
  }

  private wakeUp(): void {
    this.wake?.()
    this.wake = undefined
  }

  snapshot(): SourceSplit[] {
    return this.splits.map(({ partition, nextOffset }) => ({ partition, nextOffset }))
  }

  checkpointCompleted(_checkpointId: number): void {
    // Nothing outside the checkpoint knows the offsets.
  }

  close(): Promise<void> {
    this.wakeUp()
    return Promise.resolve()
  }
}
