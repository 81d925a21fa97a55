import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import { WeirError } from '../../../core/errors.ts'
import type { OperatorStateStore } from '../../../operators/port/operator-state.ts'

/** Operator state with the measures of each version, one entry for each. */
const MEASURES = 'learning-measures'
const FORMAT = 1

/** What a slot measures of the predictions of one version. */
export interface Measures {
  /** Writes what was measured, for a checkpoint. */
  write(writer: ByteWriter): void
  /** Adds other measures of `write`. */
  join(reader: ByteReader): void
}

/**
 * The measures of versions as operator state. They are split: with another parallelism, a slot joins those that it
 * gets, and a slot that gets none of a version begins. Each entry is
 *
 *   | format u8, 1 | version u32 | what `Measures.write` wrote ... |
 */
export class MeasuresState {
  private readonly state: OperatorStateStore
  private readonly restored: readonly { readonly version: number; readonly bytes: Uint8Array }[]

  /** Throws UNSUPPORTED_VERSION where a newer build wrote the checkpoint. */
  constructor(state: OperatorStateStore) {
    this.state = state
    this.restored = state.restored(MEASURES).map((bytes) => ({ version: versionOf(bytes), bytes }))
  }

  /** The versions that the checkpoint has measures of for this slot. */
  get versions(): ReadonlySet<number> {
    return new Set(this.restored.map(({ version }) => version))
  }

  /** Joins what the checkpoint has of a version; false where it has nothing. */
  joinInto(version: number, measures: Measures): boolean {
    const found = this.restored.filter((entry) => entry.version === version)
    for (const { bytes } of found) measures.join(new ByteReader(bytes, HEADER))
    return found.length > 0
  }

  /** Puts measures by version into the next checkpoint. */
  update(versions: Iterable<readonly [number, Measures]>): void {
    this.state.update(MEASURES, 'split', [...versions].map(encodeMeasures))
  }
}

const HEADER = 5

function encodeMeasures([version, measures]: readonly [number, Measures]): Uint8Array {
  const writer = new ByteWriter()
  writer.uint8(FORMAT)
  writer.uint32(version)
  measures.write(writer)
  return writer.toBytes()
}

function versionOf(bytes: Uint8Array): number {
  const reader = new ByteReader(bytes)
  const format = reader.uint8()
  if (format !== FORMAT) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `the checkpoint has measures of format ${format}; this build reads format ${FORMAT}: start the job with the build that wrote the checkpoint, or a newer one`,
    )
  }
  return reader.uint32()
}
