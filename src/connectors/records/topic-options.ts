import {
  either,
  name,
  numberIn,
  type OptionKind,
  oneOf,
  recordOf,
  required,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { nested } from '../../core/options/shape.ts'

// Values that the options of topics take, the same for the embedded log and for Kafka.

/** What happens to old records: deleted by age or size, reduced to the last of each key, or both. */
export type CleanupPolicy = 'delete' | 'compact' | 'both'

/** The values of a cleanup policy. */
export const CLEANUP_POLICY: OptionKind<CleanupPolicy> = oneOf('delete', 'compact', 'both')

/** Whether a reader sees records of transactions that are open or were aborted. */
export type Isolation = 'read_committed' | 'read_uncommitted'

/** The values of an isolation. */
export const ISOLATION: OptionKind<Isolation> = oneOf('read_committed', 'read_uncommitted')

/** Where a new job begins. Partitions that are found later begin at the earliest record. */
export type StartingOffsets =
  | 'earliest'
  | 'latest'
  /** The first record at or after this time in ms. */
  | { readonly timestamp: number }
  /** Partition to offset; partitions not named begin at the earliest. */
  | { readonly offsets: Readonly<Record<number, number>> }

/** The values of starting offsets. */
export const STARTING_OFFSETS: OptionKind<StartingOffsets> = either(
  oneOf('earliest', 'latest'),
  either(
    nested<{ readonly timestamp: number }>({ timestamp: required(numberIn()) }),
    nested<{ readonly offsets: Readonly<Record<number, number>> }>({
      offsets: required(recordOf(wholeNumber({ min: 0 }), /^\d+$/)),
    }),
  ),
)

/** What happens to a record that the deserializer refuses. */
export type UndecodablePolicy =
  | 'fail'
  /** Counted (`numRecordsUndecodable`) and left out. */
  | 'skip'
  /**
   * Counted and copied to this topic of the same log or Kafka, with the reason and the position in
   * its headers. A checkpoint waits until the copies are durable, so none is lost.
   */
  | { readonly deadLetterTopic: string }

/** What happens to a record that the topic of a sink refuses: for its time, its size or its form. */
export type UnwritablePolicy =
  | 'fail'
  /** Counted (`numRecordsUnwritable`) and left out. */
  | 'skip'
  /**
   * Counted and copied to this topic of the same Kafka, with the reason and its time in its headers. A checkpoint
   * waits until the copies are durable; after a restart some may be there twice.
   */
  | { readonly deadLetterTopic: string }

/** The values of an undecodable policy. */
export const UNDECODABLE: OptionKind<UndecodablePolicy> = either(
  oneOf('fail', 'skip'),
  nested<{ readonly deadLetterTopic: string }>({ deadLetterTopic: required(name) }),
)

/** The values of an unwritable policy. */
export const UNWRITABLE: OptionKind<UnwritablePolicy> = UNDECODABLE
