import { aFunction, count, numberIn, required, wholeNumber } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { type Random, ReseededRandom } from '../../core/random.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { refuseAsync } from '../../operators/port/refuse-promise.ts'
import type {
  PollResult,
  Source,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../../operators/port/source.ts'
import { IndexReader, type IndexSplit } from './index-reader.ts'

/** Options of a `GeneratorSource`. */
export interface GeneratorOptions<T> {
  /**
   * Makes the record at an index of a partition. It may depend only on its arguments, so that a replay
   * makes the same record. `random` is seeded by seed, partition and index, and valid during the call.
   */
  readonly generate: (index: number, partition: number, random: Random) => T
  readonly partitions?: number
  /** Records per partition; default unlimited. */
  readonly countPerPartition?: number
  /** Records per second over all partitions; default unlimited. */
  readonly ratePerSecond?: number
  readonly timestampOf?: (value: T, index: number) => number
  readonly seed?: number
}

const GENERATOR: OptionShape<GeneratorOptions<unknown>> = {
  generate: required(aFunction()),
  partitions: count,
  countPerPartition: wholeNumber({ min: 0 }),
  ratePerSecond: numberIn({ above: 0 }),
  timestampOf: aFunction(),
  seed: numberIn(),
}

/** Source that makes records from their index; the offset is the index. */
export class GeneratorSource<T> implements Source<T> {
  readonly boundedness: 'bounded' | 'unbounded'
  readonly discoveryIntervalMs: number | undefined = undefined
  private readonly options: GeneratorOptions<T>

  constructor(options: GeneratorOptions<T>) {
    checkOptions('new GeneratorSource', GENERATOR, options)
    refuseAsync(options.generate, 'generate of a GeneratorSource')
    this.options = options
    this.boundedness = options.countPerPartition === undefined ? 'unbounded' : 'bounded'
  }

  discover(): Promise<readonly number[]> {
    const count = this.options.partitions ?? 1
    return Promise.resolve(Array.from({ length: count }, (_, partition) => partition))
  }

  createReader(): SourceReader<T> {
    return new GeneratorReader(this.options)
  }
}

interface GeneratorSplit extends IndexSplit {
  /** Index and time at which the split was added: the rate counts from there. */
  readonly firstIndex: number
  readonly sinceMs: number
}

class GeneratorReader<T> extends IndexReader<T, GeneratorSplit> {
  private readonly options: GeneratorOptions<T>
  private readonly count: number
  /** Records per ms and partition. */
  private readonly rate: number
  private readonly random = new ReseededRandom()
  private context: SourceReaderContext | undefined

  constructor(options: GeneratorOptions<T>) {
    super()
    this.options = options
    this.count = options.countPerPartition ?? Number.POSITIVE_INFINITY
    this.rate =
      options.ratePerSecond === undefined
        ? Number.POSITIVE_INFINITY
        : options.ratePerSecond / 1000 / (options.partitions ?? 1)
  }

  open(context: SourceReaderContext): Promise<void> {
    this.context = context
    return Promise.resolve()
  }

  addSplits(splits: readonly SourceSplit[]): Promise<void> {
    const sinceMs = this.context!.clock.monotonicMs()
    for (const { partition, nextOffset } of splits) {
      const firstIndex = Math.max(nextOffset, 0)
      this.splits.push({ partition, firstIndex, sinceMs, nextOffset: firstIndex })
    }
    this.wakeUp()
    return Promise.resolve()
  }

  poll(output: SourceOutput<T>, maxRecords: number): PollResult {
    const delivered = this.deliverAll(output, maxRecords)
    if (this.splits.every((split) => split.nextOffset >= this.count)) {
      return this.count === Number.POSITIVE_INFINITY ? 'idle' : 'ended'
    }
    return delivered > 0 || this.due() ? 'more' : 'idle'
  }

  protected deliver(split: GeneratorSplit, output: SourceOutput<T>, max: number): void {
    const { generate, timestampOf, seed = 1 } = this.options
    const end = Math.min(split.nextOffset + max, this.allowed(split))
    while (split.nextOffset < end) {
      const index = split.nextOffset
      const mixed = seed ^ Math.imul(split.partition + 1, 0x9e3779b1) ^ Math.imul(index, 0x85ebca6b)
      this.random.reseed(mixed)
      const value = generate(index, split.partition, this.random)
      split.nextOffset = index + 1
      output.collect(value, timestampOf?.(value, index) ?? NO_TIMESTAMP, split.partition, index)
    }
  }

  /** Index before which records may be made now. */
  private allowed(split: GeneratorSplit): number {
    if (this.rate === Number.POSITIVE_INFINITY) return this.count
    const elapsed = this.context!.clock.monotonicMs() - split.sinceMs
    return Math.min(this.count, split.firstIndex + Math.floor(elapsed * this.rate))
  }

  private due(): boolean {
    return this.splits.some((split) => split.nextOffset < this.allowed(split))
  }

  available(): Promise<void> {
    const ended = this.splits.length > 0 && this.splits.every((s) => s.nextOffset >= this.count)
    if (this.due() || ended) return Promise.resolve()
    const sleeping = this.sleep()
    if (this.splits.length > 0) this.wakeWhenDue()
    return sleeping
  }

  private wakeWhenDue(): void {
    const waits = this.splits
      .filter((split) => split.nextOffset < this.count)
      .map((split) => {
        const dueAt = split.sinceMs + (split.nextOffset + 1 - split.firstIndex) / this.rate
        return dueAt - this.context!.clock.monotonicMs()
      })
    this.context!.clock.after(Math.max(1, Math.ceil(Math.min(...waits))), () => this.wakeUp())
  }
}
