import type { DataFile, DataRange } from './data-range.ts'
import { isObservationsDigest } from './observations-digest.ts'

/** What a version that was trained on files was trained on, in its markers: its lineage is made from it. */
export interface TrainedOn {
  readonly files: readonly DataFile[]
  /** Observations of a topic that the files have, too, as `--in-topic` says; empty without it. */
  readonly ranges: readonly DataRange[]
  /** Event time of the newest observation, ms since 1970, -1 if unknown. */
  readonly newestEventMs: number
}

/** Latest time that a `Date` can have, ms since 1970. */
export const LATEST_MS = 8.64e15

/**
 * The newest of the event times `newest` and `timestamp`, ms since 1970. A time that no `Date` can have is left out: the
 * data has it in another unit than seconds.
 */
export function newestOf(newest: number, timestamp: number): number {
  return timestamp > newest && timestamp <= LATEST_MS ? timestamp : newest
}

/** Whether a value of a marker is of this form. */
export function isTrainedOn(value: unknown): value is TrainedOn {
  const { files, ranges, newestEventMs } = fieldsOf(value)
  return (
    Array.isArray(files) &&
    files.every(isDataFile) &&
    Array.isArray(ranges) &&
    ranges.every(isDataRange) &&
    Number.isFinite(newestEventMs)
  )
}

function isDataFile(value: unknown): boolean {
  const { file, sha256, read } = fieldsOf(value)
  const isRead = read === undefined || isObservationsDigest(read)
  return isRead && typeof file === 'string' && /^[0-9a-f]{64}$/.test(String(sha256))
}

function isDataRange(value: unknown): boolean {
  const { topic, topicId, clusterId, partition, from, to, read } = fieldsOf(value)
  const isWhole = (each: unknown): boolean => Number.isSafeInteger(each) && Number(each) >= 0
  const areIds = [topicId, clusterId].every((id) => id === undefined || typeof id === 'string')
  const isRead = read === undefined || isRangeRead(read)
  return isRead && typeof topic === 'string' && areIds && [partition, from, to].every(isWhole)
}

function isRangeRead(value: unknown): boolean {
  const { all, last } = fieldsOf(value)
  const { from, digest } = fieldsOf(last)
  return isObservationsDigest(all) && Number.isSafeInteger(from) && isObservationsDigest(digest)
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return (value ?? {}) as Readonly<Record<string, unknown>>
}
