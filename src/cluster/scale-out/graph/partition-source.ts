import type { WeirError } from '../../../core/errors.ts'
import { requireArgument } from '../../../core/errors.ts'
import type { Source, SourceReader, SplitBounds } from '../../../operators/port/source.ts'
import type { JobPartition } from './job-partition.ts'

/**
 * The part of a source that one job partition reads: those of its splits that a subtask of the same number would
 * read.
 */
export class PartitionSource<T> implements Source<T> {
  private readonly source: Source<T>
  private readonly part: JobPartition

  constructor(source: Source<T>, part: JobPartition) {
    requireArgument(
      part.partition < part.partitions,
      'a job partition is one of the job partitions',
    )
    this.source = source
    this.part = part
  }

  get boundedness(): 'bounded' | 'unbounded' {
    return this.source.boundedness
  }

  get discoveryIntervalMs(): number | undefined {
    return this.source.discoveryIntervalMs
  }

  get topic(): string {
    return this.source.topic ?? ''
  }

  async discover(warn?: (warning: WeirError) => void): Promise<readonly number[]> {
    return (await this.source.discover(warn)).filter((split) => this.isOwn(split))
  }

  subtaskOf(): number {
    return 0
  }

  async bounds(): Promise<readonly SplitBounds[]> {
    const bounds = (await this.source.bounds?.()) ?? []
    return bounds.filter(({ partition }) => this.isOwn(partition))
  }

  createReader(): SourceReader<T> {
    return this.source.createReader()
  }

  private isOwn(split: number): boolean {
    const { partition, partitions } = this.part
    const reader = this.source.subtaskOf?.(split, partitions) ?? split % partitions
    return reader === partition
  }
}
