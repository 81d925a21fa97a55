import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'

/** Detector of changes in the mean of a stream of errors. */
export interface DriftDetector {
  /** Adds the next error; true when it reveals a change. */
  add(error: number): boolean
  /** Changes found so far. */
  readonly alarms: number
  /** Writes what the detector has seen, for a checkpoint. */
  write(writer: ByteWriter): void
  /** Adds what another one of `write` has seen, as if both had watched one stream. */
  join(reader: ByteReader): void
}
