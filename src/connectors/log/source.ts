import { realpathSync } from 'node:fs'
import { checkOptions } from '../../core/options/shape.ts'
import type { Source, SourceReader, SplitBounds } from '../../operators/port/source.ts'
import { type TopicRecord, topicRecordDeserializer } from '../records/topic-record.ts'
import { LOG_SOURCE, type LogSourceOptions, type RawLogSourceOptions } from './source-options.ts'
import { LogSourceReader } from './source-reader.ts'
import { topicBounds } from './storage/partition-status.ts'
import { readTopicConfig } from './storage/topic-config.ts'

/** Reads a topic of an embedded log. Records of one partition keep their order. */
export class LogSource<T> implements Source<T> {
  readonly boundedness: 'bounded' | 'unbounded'
  readonly discoveryIntervalMs: number | undefined
  private readonly options: LogSourceOptions<T>

  constructor(options: LogSourceOptions<T>) {
    checkOptions('new LogSource', LOG_SOURCE, options)
    this.options = options
    this.boundedness = options.bounded === true ? 'bounded' : 'unbounded'
    this.discoveryIntervalMs = options.bounded === true ? undefined : options.discoveryIntervalMs
  }

  /** A source of whole records with bytes that the receiver may keep. */
  static raw(options: RawLogSourceOptions): LogSource<TopicRecord> {
    return new LogSource({ ...options, deserialize: topicRecordDeserializer })
  }

  discover(): Promise<readonly number[]> {
    return Promise.resolve().then(() => {
      const { partitions } = readTopicConfig(this.options.directory, this.options.topic)
      return Array.from({ length: partitions }, (_, partition) => partition)
    })
  }

  get topic(): string {
    return this.options.topic
  }

  async bounds(): Promise<readonly SplitBounds[]> {
    return topicBounds(this.options.directory, this.options.topic)
  }

  createReader(): SourceReader<T> {
    return new LogSourceReader({
      ...this.options,
      directory: realpathSync(this.options.directory),
    })
  }
}
