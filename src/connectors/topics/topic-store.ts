import type { RecordHeader } from '../../batch/record-batch-format.ts'
import type { Cancel } from '../../core/clock.ts'
import type { Source } from '../../operators/source.ts'
import type { RecordDeserializer } from '../log/log-record.ts'
import type { CleanupPolicy } from '../log/topic-config.ts'

/** How a topic is to be kept; what is missing is the store's to choose. */
export interface NewTopic {
  readonly partitions?: number
  /** Kafka only: copies of every partition. */
  readonly replicationFactor?: number
  readonly cleanupPolicy?: CleanupPolicy
  /** Records that are older go, ms; -1 keeps all. */
  readonly retentionMs?: number
  /** The oldest go while a partition is larger; -1 keeps all. */
  readonly retentionBytes?: number
}

/** A topic as it is; how it is kept is missing where the user may not see the settings. */
export interface TopicDescription {
  readonly topic: string
  readonly partitions: number
  readonly cleanupPolicy?: CleanupPolicy
  readonly retentionMs?: number
  readonly retentionBytes?: number
  /** Kafka only. */
  readonly replicationFactor?: number
}

/** Offsets that a partition holds: from `start` to before `end`. */
export interface PartitionBounds {
  readonly partition: number
  readonly start: number
  readonly end: number
}

/** Writes to one topic; batches are on their way while it goes on. */
export interface TopicProducer {
  /** Adds a record; partition -1 chooses by key as Java does. Throws what an earlier one met. */
  sendRecord(
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    partition: number,
    headers: readonly RecordHeader[],
  ): void
  /** False while too much is on its way. */
  ready(): boolean
  /** Resolves when `ready()` is true. */
  whenReady(): Promise<void>
  /** Resolves when every record sent is stored as durably as the store can, and visible. */
  sync(): Promise<void>
  close(): Promise<void>
}

/** What a source of a topic does with its records. */
export interface TopicSourceOptions<T> {
  readonly topic: string
  readonly deserialize: RecordDeserializer<T>
  /** End at what is there now; default false. */
  readonly bounded?: boolean
  /** Time between looks for new partitions, ms; default none. */
  readonly discoveryIntervalMs?: number
}

/** Topics of one place, the embedded log of a folder or a Kafka: the port for what uses either. */
export interface TopicStore extends AsyncDisposable {
  /** In words, for messages: `the embedded log in .weir/log`, `Kafka at localhost:9092`. */
  readonly place: string
  /** Names, internal ones left out, sorted. */
  topics(): Promise<readonly string[]>
  has(topic: string): Promise<boolean>
  /** Throws UNKNOWN_TOPIC. */
  describe(topic: string): Promise<TopicDescription>
  /** Bounds of every partition. Throws UNKNOWN_TOPIC. */
  bounds(topic: string): Promise<readonly PartitionBounds[]>
  /**
   * Tells this topic from another one of the same name, created after this was deleted: empty where
   * the store does not know.
   */
  identity(topic: string): Promise<string>
  /** Throws TOPIC_EXISTS when there is one of this name. */
  create(topic: string, config: NewTopic): Promise<void>
  /**
   * With a transactional id what is sent is one transaction: `sync` commits it, `close` before that
   * drops it, and so does the next producer with this id after a crash. Throws UNKNOWN_TOPIC.
   */
  producer(topic: string, transactionalId?: string): Promise<TopicProducer>
  /**
   * Calls `onChange` when the topic may have changed or may have come to be; what it returns ends
   * that. Undefined, or no such method, where the store does not tell: then only looking helps.
   */
  watch?(topic: string, onChange: () => void): Cancel | undefined
  /** Reads what is committed. */
  source<T>(options: TopicSourceOptions<T>): Source<T>
}
