import type { ObservationsDigest } from './observations-digest.ts'

/** Observations that a version was trained on: offsets `from <= o < to` of a partition. */
export interface DataRange {
  readonly topic: string
  /**
   * Id of the topic: in another topic the offsets mean other records. Missing in versions of earlier builds; empty where
   * such a version was imported, as its topic is not known.
   */
  readonly topicId?: string
  /** Id of the embedded log or the Kafka cluster that has the topic; missing where it is not known. */
  readonly clusterId?: string
  readonly partition: number
  readonly from: number
  readonly to: number
  /** What was read there. Missing in versions of earlier builds, and where nothing was read. */
  readonly read?: RangeRead
}

/** What was read of a range: another log, or one that was rewritten, has other records at the same offsets. */
export interface RangeRead {
  readonly all: ObservationsDigest
  /** The end of the range, which can be compared at any size: `from` is its first offset. */
  readonly last: { readonly from: number; readonly digest: ObservationsDigest }
}

/** A file that a version was trained on. */
export interface DataFile {
  readonly file: string
  /** SHA-256 of the bytes that were read, in hex. */
  readonly sha256: string
  /** What was read of it, for the comparison with a topic. Missing in versions of earlier builds. */
  readonly read?: ObservationsDigest
}
