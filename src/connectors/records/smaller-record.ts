import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'
import type { RecordView } from './topic-record.ts'

/** A record that is sent in place of one that is larger than its topic accepts. */
export interface SmallerRecord {
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly timestamp: number
  readonly headers: readonly RecordHeader[]
}

/**
 * Makes a smaller record in place of one that was refused because of its size; undefined when there is
 * none. It may be called again with the record that it made.
 */
export type MakeSmaller = (refused: RecordView) => SmallerRecord | undefined
