import type { Clock } from '../../core/clock.ts'
import type {
  PollResult,
  Source,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../port/source.ts'

/** A bounded source of one partition: the elements of an array, with offsets from 0. */
export class ElementsSource<T> implements Source<T> {
  readonly boundedness = 'bounded'
  readonly discoveryIntervalMs = undefined
  private readonly elements: readonly T[]

  constructor(elements: readonly T[]) {
    this.elements = elements
  }

  async discover(): Promise<readonly number[]> {
    return [0]
  }

  createReader(): SourceReader<T> {
    return new ElementsReader(this.elements)
  }
}

class ElementsReader<T> implements SourceReader<T> {
  private readonly elements: readonly T[]
  private next: number | undefined
  private clock: Clock | undefined

  constructor(elements: readonly T[]) {
    this.elements = elements
  }

  async open(context: SourceReaderContext): Promise<void> {
    this.clock = context.clock
  }

  async addSplits(splits: readonly SourceSplit[]): Promise<void> {
    for (const split of splits) this.next = Math.max(0, split.nextOffset)
  }

  poll(output: SourceOutput<T>, maxRecords: number): PollResult {
    if (this.next === undefined) return 'ended'
    const end = Math.min(this.elements.length, this.next + maxRecords)
    for (let i = this.next; i < end; i++) output.collect(this.elements[i]!, -1, 0, i)
    this.next = end
    if (end < this.elements.length) {
      output.progress(0, end)
      return 'more'
    }
    output.progress(0, end, this.clock?.nowMs())
    return 'ended'
  }

  async available(): Promise<void> {}

  snapshot(): SourceSplit[] {
    return this.next === undefined ? [] : [{ partition: 0, nextOffset: this.next }]
  }

  checkpointCompleted(): void {}

  async close(): Promise<void> {}
}
