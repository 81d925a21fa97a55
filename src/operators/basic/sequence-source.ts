import type { Clock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import type {
  PollResult,
  Source,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../port/source.ts'

/** Most partitions of a sequence, so that its readers may be as many subtasks. */
const MAX_PARTITIONS = 64

/**
 * A bounded source of the whole numbers from `from` to `to`, both included. Each partition is a run of
 * numbers; its offsets count from 0.
 */
export class SequenceSource implements Source<number> {
  readonly boundedness = 'bounded'
  readonly discoveryIntervalMs = undefined
  private readonly from: number
  private readonly to: number

  /** Throws INVALID_ARGUMENT. */
  constructor(from: number, to: number) {
    requireArgument(
      Number.isSafeInteger(from) && Number.isSafeInteger(to) && from <= to,
      `a sequence goes from a whole number to one that is not smaller, not from ${from} to ${to}`,
    )
    this.from = from
    this.to = to
  }

  discover(): Promise<readonly number[]> {
    const count = Math.min(MAX_PARTITIONS, this.to - this.from + 1)
    return Promise.resolve(Array.from({ length: count }, (_, partition) => partition))
  }

  createReader(): SourceReader<number> {
    return new SequenceReader(this.from, this.to)
  }
}

/** A run of numbers that is being read. */
interface Run {
  readonly partition: number
  readonly first: number
  readonly length: number
  nextOffset: number
}

/** Reads its runs one after the other. */
class SequenceReader implements SourceReader<number> {
  private readonly from: number
  private readonly to: number
  private readonly runs: Run[] = []
  private clock: Clock | undefined

  constructor(from: number, to: number) {
    this.from = from
    this.to = to
  }

  async open(context: SourceReaderContext): Promise<void> {
    this.clock = context.clock
  }

  async addSplits(splits: readonly SourceSplit[]): Promise<void> {
    for (const { partition, nextOffset } of splits) {
      const first = this.firstOf(partition)
      const length = this.firstOf(partition + 1) - first
      this.runs.push({ partition, first, length, nextOffset: Math.max(0, nextOffset) })
    }
  }

  poll(output: SourceOutput<number>, maxRecords: number): PollResult {
    let left = maxRecords
    for (const run of this.runs) {
      const { partition, first, length } = run
      const end = Math.min(length, run.nextOffset + left)
      if (end === run.nextOffset) continue
      left -= end - run.nextOffset
      for (let offset = run.nextOffset; offset < end; offset++) {
        output.collect(first + offset, NO_TIMESTAMP, partition, offset)
      }
      run.nextOffset = end
      if (end < length) output.progress(partition, end)
      else output.progress(partition, end, this.clock?.nowMs())
    }
    return this.runs.every(({ nextOffset, length }) => nextOffset === length) ? 'ended' : 'more'
  }

  async available(): Promise<void> {}

  snapshot(): SourceSplit[] {
    return this.runs.map(({ partition, nextOffset }) => ({ partition, nextOffset }))
  }

  checkpointCompleted(): void {}

  async close(): Promise<void> {}

  /** First number of a partition: the runs differ by one number at most. */
  private firstOf(partition: number): number {
    const { from, to } = this
    const total = to - from + 1
    const count = Math.min(MAX_PARTITIONS, total)
    const rest = total % count
    return from + Math.floor(total / count) * partition + Math.min(partition, rest)
  }
}
