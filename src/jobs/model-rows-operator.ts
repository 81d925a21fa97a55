import { type ByteSpan, emptySpan } from '../core/byte-span.ts'
import { WeirError } from '../core/errors.ts'
import { keyOfEveryGroup } from '../core/key-group-keys.ts'
import { keyLengthWithoutVersion, versionOfKeyBytes } from '../models/als-row.ts'
import type { ModelRow, MutableModelRow } from '../models/model-row.ts'
import type { ModelVersionMarker } from '../models/model-version-marker.ts'
import { ModelTopicOperator } from './model-topic-operator.ts'
import type { ModelTopicRecord } from './model-topic-record.ts'

export type { BadRowPolicy, MarkerSeen, RowDropped } from './model-topic-operator.ts'
export type { ModelTopicRecord } from './model-topic-record.ts'

const decoder = new TextDecoder()

/** Splits the model topic of an ALS model: rows go on, to the owners of their keys. */
export class ModelRowsOperator extends ModelTopicOperator {
  private readonly key = emptySpan()
  private readonly floats = emptySpan()
  /** The row that is sent on; every record fills it anew. */
  private readonly row: MutableModelRow = { key: this.key, version: 0, floats: undefined }

  protected emit(record: ModelTopicRecord, timestamp: number): void {
    this.context.output.collect(this.rowOf(record), timestamp)
  }

  /** Every owner of rows drops a retired version. */
  protected override markerSeen({ event, version }: ModelVersionMarker): void {
    if (event !== 'retire') return
    for (const bytes of keyOfEveryGroup(this.context.maxParallelism)) {
      const key = { bytes, start: 0, length: bytes.length }
      this.context.output.collect(
        { key, version, floats: undefined, retires: true } satisfies ModelRow,
        -1,
      )
    }
  }

  protected rowOf(record: ModelTopicRecord): MutableModelRow {
    const { bytes, keyStart, keyLength } = record
    if (keyLength < 0) {
      throw new WeirError('UNPARSABLE_RECORD', 'a model row has no key; write <id>-U or <id>-I')
    }
    const { key, row } = this
    key.bytes = bytes
    key.start = keyStart
    key.length = keyLengthWithoutVersion(bytes, keyStart, keyLength)
    checkKind(key)
    row.version = versionOfKeyBytes(bytes, key.length, keyStart, keyLength)
    row.floats = record.valueLength < 0 ? undefined : this.floatsOf(record)
    return row
  }

  /** The floats where they lie; the row table checks for NaN. */
  private floatsOf({ bytes, valueStart, valueLength }: ModelTopicRecord): ByteSpan {
    if (valueLength !== this.dimension * 4) {
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `a model row has ${valueLength} bytes where ${this.dimension} float32 were expected`,
      )
    }
    const { floats } = this
    floats.bytes = bytes
    floats.start = valueStart
    floats.length = valueLength
    return floats
  }
}

/** Throws UNPARSABLE_RECORD unless the key ends in `-U` or `-I`. */
function checkKind({ bytes, start, length }: ByteSpan): void {
  const end = start + length
  const kind = bytes[end - 1]
  if (length >= 3 && bytes[end - 2] === 0x2d && (kind === 0x55 || kind === 0x49)) return
  const text = decoder.decode(bytes.subarray(start, end))
  throw new WeirError('UNPARSABLE_RECORD', `the model key "${text}" does not end in -U or -I`)
}
