import type { ByteSpan, MutableByteSpan } from '../../core/byte-span.ts'
import { WeirError } from '../../core/errors.ts'
import { keyOfEveryGroup } from '../../core/key-group-keys.ts'
import { flag } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'
import { encodeFactors } from '../als/row.ts'
import { isMeanKeyBytes, kindOfKeyBytes, MEAN_KEYS } from '../als/row-key.ts'
import {
  emptyRow,
  type PublishedRow,
  type PublishedVariance,
  type RowUpdate,
} from '../als/row-update.ts'
import { varianceRow } from '../als/row-variance.ts'
import { MEAN_ID_IS_TAKEN } from '../mean-id.ts'
import type { ModelVersionMarker } from '../registry/version-marker.ts'
import { keyLengthWithoutVersion, readableVersion, versionOfKeyBytes } from '../versioned-key.ts'
import { type BadRowPolicy, ModelTopicOperator } from './operator.ts'
import { keyBytesOf, type ModelTopicRecord, valueBytesOf } from './record.ts'
import { mayBeText, textRowIn } from './row-form.ts'
import { varianceOf } from './row-memory.ts'
import { ratingsIn } from './row-ratings.ts'

export type { BadRowPolicy, MarkerSeen, RowDropped } from './operator.ts'
export type { ModelTopicRecord } from './record.ts'

const encoder = new TextEncoder()
const NO_FLOATS = new Uint8Array(0)
const decoder = new TextDecoder()

/** Splits the model topic of an ALS model: sends rows to the owners of their keys. */
export class ModelRowsOperator extends ModelTopicOperator {
  /** The row that is sent on; every record fills it again. */
  private readonly row = emptyRow()
  private readonly readsRatings: boolean

  /** `readsRatings`: rows say on how many ratings they were trained. */
  constructor(dimension: number, policy: BadRowPolicy, readsRatings = false) {
    super(dimension, policy)
    checkArgument('new ModelRowsOperator', 'readsRatings', flag, readsRatings)
    this.readsRatings = readsRatings
  }

  protected emit(record: ModelTopicRecord, timestamp: number): void {
    const update = this.textUpdate(record) ?? this.updateOf(record)
    this.context.output.collect(update, timestamp)
    const variance = update.kind === 'row' ? varianceOf(record) : undefined
    if (variance !== undefined) this.sendVariance(update, encodeFactors(variance), timestamp)
  }

  /** Opens the variances of a version that has some, with those of users and items without a row under the keys of the mean rows. */
  protected override versionRead({ version, coldVariances }: ModelVersionMarker): void {
    if (coldVariances === undefined) return
    const { user, item } = coldVariances
    for (const key of keyOfEveryGroup(this.context.maxParallelism)) {
      this.sendVariance({ key: spanOf(key), version }, NO_FLOATS, -1)
    }
    for (const [name, row] of [
      [MEAN_KEYS.U, varianceRow('U', user)],
      [MEAN_KEYS.I, varianceRow('I', item)],
    ] as const) {
      const key = spanOf(encoder.encode(name))
      this.sendVariance({ key, version }, encodeFactors(row), -1)
    }
  }

  private sendVariance(
    { key, version }: Pick<PublishedVariance, 'key' | 'version'>,
    floats: Uint8Array,
    timestamp: number,
  ): void {
    const update: PublishedVariance = { kind: 'variance', key, version, floats: spanOf(floats) }
    this.context.output.collect(update, timestamp)
  }

  /** The row of a record with text; undefined for any other record. */
  private textUpdate(record: ModelTopicRecord): PublishedRow | undefined {
    const { bytes, valueStart, valueLength } = record
    if (!mayBeText(bytes, valueStart, valueLength)) return undefined
    const headers = (): readonly RecordHeader[] => record.headers?.() ?? []
    const text = textRowIn(keyBytesOf(record), valueBytesOf(record), headers)
    if (text === undefined) return undefined
    if (text.factors.length !== this.dimension) {
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `the text row of ${text.key} has ${text.factors.length} floats where ${this.dimension} were expected`,
      )
    }
    if (valueLength === this.dimension * 4) this.tookText()
    const { row } = this
    setSpan(row.key, encoder.encode(text.key))
    checkKey(row.key)
    setSpan(row.floats, encodeFactors(text.factors))
    row.version = readableVersion(text.version)
    if (this.readsRatings) row.ratings = ratingsIn(headers())
    return row
  }

  protected override versionSeen(kind: 'open' | 'retire', version: number): void {
    for (const bytes of keyOfEveryGroup(this.context.maxParallelism)) {
      this.context.output.collect({ kind, key: spanOf(bytes), version } satisfies RowUpdate, -1)
    }
  }

  private updateOf(record: ModelTopicRecord): RowUpdate {
    const { bytes, keyStart, keyLength, valueLength } = record
    if (keyLength < 0) {
      throw new WeirError(
        'UNPARSABLE_RECORD',
        'a model row has no key and is no text row; write the key <id>-U or <id>-I, or the text <id>,U|I,f1;f2;...',
      )
    }
    const { row } = this
    const { key } = row
    key.bytes = bytes
    key.start = keyStart
    key.length = keyLengthWithoutVersion(bytes, keyStart, keyLength)
    checkKey(key)
    row.version = readableVersion(versionOfKeyBytes(bytes, key.length, keyStart, keyLength))
    if (valueLength < 0) return { kind: 'remove', key, version: row.version }
    return this.withFloats(record)
  }

  /** Fills in the floats where they are; the row table checks for NaN. */
  private withFloats(record: ModelTopicRecord): PublishedRow {
    const { bytes, valueStart, valueLength } = record
    if (valueLength !== this.dimension * 4) {
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `a model row has ${valueLength} bytes where ${this.dimension} float32 were expected, and is no text row <id>,U|I,f1;f2;...`,
      )
    }
    const { row } = this
    const { floats } = row
    floats.bytes = bytes
    floats.start = valueStart
    floats.length = valueLength
    if (this.readsRatings) row.ratings = ratingsIn(record.headers?.() ?? [])
    return row
  }
}

function spanOf(bytes: Uint8Array): ByteSpan {
  return { bytes, start: 0, length: bytes.length }
}

function setSpan(span: MutableByteSpan, bytes: Uint8Array): void {
  span.bytes = bytes
  span.start = 0
  span.length = bytes.length
}

/** Throws UNPARSABLE_RECORD unless the key ends in `-U` or `-I` and is not that of a mean row. */
function checkKey({ bytes, start, length }: ByteSpan): void {
  const isMean = isMeanKeyBytes(bytes, start, length)
  if (!isMean && kindOfKeyBytes(bytes, start, length) !== undefined) return
  const text = decoder.decode(bytes.subarray(start, start + length))
  const why = isMean
    ? `is refused: ${MEAN_ID_IS_TAKEN}`
    : 'does not end in -U or -I, and the value is no text row <id>,U|I,f1;f2;...'
  throw new WeirError('UNPARSABLE_RECORD', `the model key "${text}" ${why}`)
}
