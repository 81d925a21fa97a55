import { requireArgument } from '../../core/errors.ts'
import { aFunction, count, flag, kindOf, listOf } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import type {
  PollResult,
  Source,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../../operators/port/source.ts'
import { IndexReader, type IndexSplit } from './index-reader.ts'

/** Options of a `MemorySource`. */
export interface MemorySourceOptions<T> {
  /** Event time of a value in ms; default none. */
  readonly timestampOf?: (value: T) => number
  /** When false the source stays open after the last record; default true. */
  readonly bounded?: boolean
  /**
   * Called before each record is delivered. `poll` throws its errors, as if the source had failed.
   */
  readonly beforeRecord?: (partition: number, offset: number) => void
  /** Most records of one poll, so that tests have many polls; default no limit. */
  readonly maxPerPoll?: number
}

const MEMORY_SOURCE: OptionShape<MemorySourceOptions<unknown>> = {
  timestampOf: aFunction(),
  bounded: flag,
  beforeRecord: aFunction(),
  maxPerPoll: count,
}
const PARTITIONS = listOf(kindOf<readonly unknown[]>('an array of values', Array.isArray))

/** Source over arrays: partition `p` is `partitions[p]`, the offset is the index. */
export class MemorySource<T> implements Source<T> {
  readonly boundedness: 'bounded' | 'unbounded'
  readonly discoveryIntervalMs: number | undefined = undefined
  private readonly partitions: readonly (readonly T[])[]
  private readonly options: MemorySourceOptions<T>

  constructor(partitions: readonly (readonly T[])[], options: MemorySourceOptions<T> = {}) {
    checkArgument('new MemorySource', 'partitions', PARTITIONS, partitions)
    checkOptions('new MemorySource', MEMORY_SOURCE, options)
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

class MemorySourceReader<T> extends IndexReader<T, IndexSplit> {
  private readonly partitions: readonly (readonly T[])[]
  private readonly options: MemorySourceOptions<T>

  constructor(partitions: readonly (readonly T[])[], options: MemorySourceOptions<T>) {
    super()
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
    this.deliverAll(output, Math.min(maxRecords, this.options.maxPerPoll ?? maxRecords))
    if (this.remaining()) return 'more'
    return this.options.bounded === false ? 'idle' : 'ended'
  }

  protected deliver(split: IndexSplit, output: SourceOutput<T>, max: number): void {
    const values = this.partitions[split.partition] ?? []
    const { timestampOf, beforeRecord } = this.options
    const end = Math.min(split.nextOffset + max, values.length)
    while (split.nextOffset < end) {
      const offset = split.nextOffset
      beforeRecord?.(split.partition, offset)
      const value = values[offset]!
      split.nextOffset = offset + 1
      output.collect(value, timestampOf?.(value) ?? NO_TIMESTAMP, split.partition, offset)
    }
  }

  private remaining(): boolean {
    return this.splits.some(
      ({ partition, nextOffset }) => nextOffset < (this.partitions[partition]?.length ?? 0),
    )
  }

  available(): Promise<void> {
    if (this.remaining() || this.options.bounded !== false) return Promise.resolve()
    return this.sleep()
  }
}
