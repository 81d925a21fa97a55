import { realpathSync } from 'node:fs'
import type { Source, SourceReader } from '../../operators/source.ts'
import { type LogRecord, logRecordDeserializer, type RecordDeserializer } from './log-record.ts'
import { LogSourceReader } from './log-source-reader.ts'
import type { Isolation } from './partition-reader.ts'
import { readTopicConfig } from './topic-config.ts'

/** Where a fresh job begins: the oldest record, the next one, a time in ms, or given offsets. */
export type StartingOffsets =
  | 'earliest'
  | 'latest'
  | { readonly timestamp: number }
  /** Partition to offset; partitions not named begin at the earliest. */
  | { readonly offsets: Readonly<Record<number, number>> }

/** What happens to a record that the deserializer refuses. */
export type UndecodablePolicy =
  | 'fail'
  /** Counted (`numRecordsUndecodable`) and left out. */
  | 'skip'
  /** Counted and copied to this topic of the same log, with the reason in its headers. */
  | { readonly deadLetterTopic: string }

/** What a `LogSource` reads and how. */
export interface LogSourceOptions<T> {
  readonly directory: string
  readonly topic: string
  readonly deserialize: RecordDeserializer<T>
  /** Default `earliest`. */
  readonly start?: StartingOffsets
  /** End at the offsets that exist when the reader gets its splits; default false. */
  readonly bounded?: boolean
  /** Default `read_committed`. */
  readonly isolation?: Isolation
  /** Default `fail`. */
  readonly undecodable?: UndecodablePolicy
  /** Time between looks for new partitions in ms; default none. */
  readonly discoveryIntervalMs?: number
  /** Bytes read ahead per partition; default 1 MiB, twice that is held. */
  readonly prefetchBytes?: number
  readonly verifyChecksums?: boolean
}

/** What a `LogSource` of raw records reads and how. */
export type RawLogSourceOptions = Omit<LogSourceOptions<LogRecord>, 'deserialize'>

/** Reads a topic of an embedded log. Records of one partition keep their order. */
export class LogSource<T> implements Source<T> {
  readonly boundedness: 'bounded' | 'unbounded'
  readonly discoveryIntervalMs: number | undefined
  private readonly options: LogSourceOptions<T>

  constructor(options: LogSourceOptions<T>) {
    this.options = options
    this.boundedness = options.bounded === true ? 'bounded' : 'unbounded'
    this.discoveryIntervalMs = options.bounded === true ? undefined : options.discoveryIntervalMs
  }

  /** A source of whole records with bytes that the receiver may keep. */
  static raw(options: RawLogSourceOptions): LogSource<LogRecord> {
    return new LogSource({ ...options, deserialize: logRecordDeserializer })
  }

  discover(): Promise<readonly number[]> {
    return Promise.resolve().then(() => {
      const { partitions } = readTopicConfig(this.options.directory, this.options.topic)
      return Array.from({ length: partitions }, (_, partition) => partition)
    })
  }

  createReader(): SourceReader<T> {
    return new LogSourceReader({
      ...this.options,
      directory: realpathSync(this.options.directory),
    })
  }
}
