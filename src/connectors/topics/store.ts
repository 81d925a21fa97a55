import type { Cancel } from '../../core/clock.ts'
import {
  aFunction,
  count,
  flag,
  milliseconds,
  name,
  numberIn,
  required,
  wholeNumber,
} from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import type { Source } from '../../operators/port/source.ts'
import type { RecordTarget } from '../records/outgoing-record.ts'
import {
  CLEANUP_POLICY,
  type CleanupPolicy,
  STARTING_OFFSETS,
  type StartingOffsets,
} from '../records/topic-options.ts'
import type { RecordDeserializer, RecordView } from '../records/topic-record.ts'

/** Configuration of a new topic. The store chooses missing values. */
export interface NewTopic {
  readonly partitions?: number
  /** Kafka only: replicas of every partition. */
  readonly replicationFactor?: number
  readonly cleanupPolicy?: CleanupPolicy
  /** Embedded log only: bytes of a segment; retention and compaction remove only from segments that have ended. */
  readonly segmentBytes?: number
  /** Older records are removed, ms; -1 keeps all. */
  readonly retentionMs?: number
  /** The oldest records are removed while a partition is larger, bytes; -1 keeps all. */
  readonly retentionBytes?: number
}

/** Identity of a topic: another topic has another one, also if it is created later under the same name. */
export interface TopicIdentity {
  /** Empty where the store has no id for the topic. */
  readonly id: string
  /** Id of the Kafka cluster or of the embedded log; missing where it is not known. */
  readonly cluster?: string
}

/** The configuration of a new topic. */
export const NEW_TOPIC: OptionShape<NewTopic> = {
  partitions: wholeNumber({ min: 1, max: 65_536 }),
  replicationFactor: count,
  cleanupPolicy: CLEANUP_POLICY,
  segmentBytes: count,
  retentionMs: numberIn({ min: -1 }),
  retentionBytes: numberIn({ min: -1 }),
}

/** Description of a topic. Settings that the user may not read are missing. */
export interface TopicDescription extends Partial<TopicIdentity> {
  readonly topic: string
  readonly partitions: number
  readonly cleanupPolicy?: CleanupPolicy
  readonly retentionMs?: number
  readonly retentionBytes?: number
  /** Kafka only. */
  readonly replicationFactor?: number
}

/** Offsets of a partition: `start` inclusive, `end` exclusive. */
export interface PartitionBounds {
  readonly partition: number
  readonly start: number
  readonly end: number
}

/** Producer of one topic. Batches are sent in the background. */
export interface TopicProducer extends RecordTarget {
  /** False while too much is in flight. */
  ready(): boolean
  /** Resolves when `ready()` is true. */
  whenReady(): Promise<void>
  /** Resolves when all sent records are visible, and as durable as the store can make them. */
  sync(): Promise<void>
  /**
   * The partition of a key, and the highest offset there that is known to be stored; -1 where none is. After `sync`,
   * all records of the key that were sent before it lie up to there. No such method: positions are not known.
   */
  positionOf?(key: Uint8Array): { readonly partition: number; readonly offset: number }
  close(): Promise<void>
}

/** Options of `TopicStore.source`. */
export interface TopicSourceOptions<T> {
  readonly topic: string
  readonly deserialize: RecordDeserializer<T>
  /** Where a reader without stored positions begins; default `earliest`. */
  readonly start?: StartingOffsets
  /** End at the offsets that exist now; default false. */
  readonly bounded?: boolean
  /** Time between two searches for new partitions, ms; default none. */
  readonly discoveryIntervalMs?: number
}

/** The options of `TopicStore.source`. */
export const TOPIC_SOURCE: OptionShape<TopicSourceOptions<unknown>> = {
  topic: required(name),
  deserialize: required(aFunction()),
  start: STARTING_OFFSETS,
  bounded: flag,
  discoveryIntervalMs: milliseconds,
}

/** What is found while stored records are visited; each record is valid during its call. */
export interface StoredVisitor {
  readonly record?: (record: RecordView, partition: number) => void
  /** An offset between others that has no record any more: it was erased, or compacted. */
  readonly erased?: (partition: number, offset: number) => void
}

/** The records of a store as they are on the disk of this machine. */
export interface StoredRecords {
  /** Visits all records up to the current end, also those of open and of aborted transactions. Throws UNKNOWN_TOPIC. */
  visit(topic: string, visitor: StoredVisitor): Promise<void>
  /**
   * Takes records out, by partition; all others keep their offsets. Returns how many were there. Throws UNKNOWN_TOPIC,
   * ILLEGAL_STATE behind the start of an open transaction.
   */
  erase(topic: string, offsets: ReadonlyMap<number, readonly number[]>): Promise<number>
}

/** Port to the topics of one place: an embedded log's directory or a Kafka. */
export interface TopicStore extends AsyncDisposable {
  /** The place in words, for messages: `the embedded log in .weir/log`, `Kafka at localhost:9092`. */
  readonly place: string
  /** Names, sorted, without internal topics. */
  topics(): Promise<readonly string[]>
  has(topic: string): Promise<boolean>
  /** Throws UNKNOWN_TOPIC. */
  describe(topic: string): Promise<TopicDescription>
  /** Bounds of every partition. Throws UNKNOWN_TOPIC. */
  bounds(topic: string): Promise<readonly PartitionBounds[]>
  /** Throws UNKNOWN_TOPIC. */
  identity(topic: string): Promise<TopicIdentity>
  /** Throws TOPIC_EXISTS when a topic of this name exists. */
  create(topic: string, config: NewTopic): Promise<void>
  /**
   * Deletes records below an offset, by partition of the topic; 0 deletes none. An embedded log removes whole segments
   * only, so some may stay. Throws UNKNOWN_TOPIC.
   */
  deleteRecords(topic: string, before: readonly number[]): Promise<void>
  /**
   * Opens a producer. With a transactional id, its records are one transaction: `sync` commits it,
   * `close` without `sync` drops it. After a crash the next producer with this id drops it; an embedded log drops
   * it when its process has ended, a Kafka after the transaction's timeout. Throws UNKNOWN_TOPIC.
   */
  producer(topic: string, transactionalId?: string): Promise<TopicProducer>
  /**
   * Drops the transactions of processes that were killed, so that readers do not wait behind them. No such
   * method: the store does it by itself.
   */
  dropAbandoned?(topic: string): Promise<void>
  /**
   * Calls `onChange` when the topic may have changed or may have been created. The returned function
   * ends that. Undefined, or no such method: the store reports no changes and must be polled.
   */
  watch?(topic: string, onChange: () => void): Cancel | undefined
  /** Its records one by one. Missing: only whole ends of a partition can be deleted, and others see what was aborted. */
  readonly stored?: StoredRecords
  /** A source of the committed records. */
  source<T>(options: TopicSourceOptions<T>): Source<T>
}
