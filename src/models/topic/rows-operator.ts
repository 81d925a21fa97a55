import type { ByteSpan, MutableByteSpan } from '../../core/byte-span.ts'
import { WeirError } from '../../core/errors.ts'
import { keyOfEveryGroup } from '../../core/key-group-keys.ts'
import { count, flag, type OptionKind, recordOf } from '../../core/options/kinds.ts'
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
import { type BadRowPolicy, type MarkerSeen, ModelTopicOperator } from './operator.ts'
import { keyBytesOf, type ModelTopicRecord, valueBytesOf } from './record.ts'
import { mayBeText, textRowIn } from './row-form.ts'
import { varianceOf } from './row-memory.ts'
import { ratingsIn } from './row-ratings.ts'

export type { BadRowPolicy, MarkerSeen, RowDropped } from './operator.ts'
export type { ModelTopicRecord } from './record.ts'

const encoder = new TextEncoder()
const NO_FLOATS = new Uint8Array(0)
const decoder = new TextDecoder()

/** Floats of a row by version, as options of a job have them: of those versions whose rows are not as long as usual. */
export type VersionDimensions = Readonly<Record<string, number>>

/** The values of `VersionDimensions`. */
export const VERSION_DIMENSIONS: OptionKind<VersionDimensions> = recordOf(count, /^[1-9][0-9]*$/)

/**
 * Splits the model topic of an ALS model: sends rows to the owners of their keys. Versions may have rows of different
 * lengths: the markers of a version say its own, and so do the options of the job, because compaction may have removed the
 * marker that stood before the rows.
 */
export class ModelRowsOperator extends ModelTopicOperator {
  /** The row that is sent on; every record fills it again. */
  private readonly row = emptyRow()
  private readonly readsRatings: boolean
  private readonly lengths: RowLengths

  /**
   * `dimension`: floats of a row of a version that nothing else is known of. `readsRatings`: rows say on how many ratings
   * they were trained. `dimensions`: of versions that are known to have others.
   */
  constructor(
    dimension: number,
    policy: BadRowPolicy,
    readsRatings = false,
    dimensions: VersionDimensions = {},
  ) {
    super(dimension, policy)
    checkArgument('new ModelRowsOperator', 'readsRatings', flag, readsRatings)
    checkArgument('new ModelRowsOperator', 'dimensions', VERSION_DIMENSIONS, dimensions)
    this.readsRatings = readsRatings
    this.lengths = new RowLengths(dimension, dimensions)
  }

  protected override requireRows({ event, version, dimension }: ModelVersionMarker): void {
    const { partition } = this.context.position()
    if (event !== 'ready' || !this.lengths.hasRefused(partition, version, dimension)) return
    // Without its rows the version must not go live.
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `version ${version} has rows of ${dimension} floats, and rows of it came before a marker that says so, where rows of ${this.dimension} were expected: they are dropped, and the version stays out until the job is started again without its checkpoints`,
    )
  }

  protected override markerKnown({ partition, marker }: MarkerSeen): void {
    this.lengths.learn(partition, marker)
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
    const { row } = this
    row.version = readableVersion(text.version)
    const floats = this.floatsOf(row.version)
    if (text.factors.length !== floats) {
      this.refused(row.version)
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `the text row of ${text.key} has ${text.factors.length} floats where ${floats} were expected`,
      )
    }
    if (valueLength === floats * 4) this.tookText()
    setSpan(row.key, encoder.encode(text.key))
    checkKey(row.key)
    setSpan(row.floats, encodeFactors(text.factors))
    if (this.readsRatings) row.ratings = ratingsIn(headers())
    return row
  }

  protected override versionSeen(
    kind: 'open' | 'retire',
    version: number,
    dimension: number,
  ): void {
    for (const bytes of keyOfEveryGroup(this.context.maxParallelism)) {
      const key = spanOf(bytes)
      const update: RowUpdate =
        kind === 'open' ? { kind, key, version, dimension } : { kind, key, version }
      this.context.output.collect(update, -1)
    }
  }

  private floatsOf(version: number): number {
    return this.lengths.of(this.context.position().partition, version)
  }

  /** A row of a version has another length than expected. */
  private refused(version: number): void {
    this.lengths.refuse(this.context.position().partition, version)
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
    const { row } = this
    const expected = this.floatsOf(row.version)
    if (valueLength !== expected * 4) {
      this.refused(row.version)
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `a model row has ${valueLength} bytes where ${expected} float32 were expected, and is no text row <id>,U|I,f1;f2;...`,
      )
    }
    const { floats } = row
    floats.bytes = bytes
    floats.start = valueStart
    floats.length = valueLength
    if (this.readsRatings) row.ratings = ratingsIn(record.headers?.() ?? [])
    return row
  }
}

/** How long the rows of each version are, as far as it is known where a record is read. */
class RowLengths {
  private readonly usual: number
  private readonly given: ReadonlyMap<number, number>
  /** By partition, what markers say: another partition may still have rows of a version before under the same number. */
  private readonly said: Map<number, number>[] = []
  /** By partition, versions of which a row was refused before a marker of them was read. */
  private readonly early: Set<number>[] = []
  /** Whether all rows are as long as usual: most jobs need not look. */
  private isUniform: boolean

  constructor(usual: number, given: VersionDimensions) {
    this.usual = usual
    this.given = new Map(
      Object.entries(given).map(([version, floats]) => [Number(version), floats]),
    )
    this.isUniform = [...this.given.values()].every((floats) => floats === usual)
  }

  of(partition: number, version: number): number {
    if (this.isUniform) return this.usual
    return this.said[partition]?.get(version) ?? this.given.get(version) ?? this.usual
  }

  learn(partition: number, { event, version, dimension }: ModelVersionMarker): void {
    const said = this.said[partition] ?? new Map<number, number>()
    this.said[partition] = said
    if (event !== 'ready') this.early[partition]?.delete(version)
    if (event === 'retire') said.delete(version)
    else said.set(version, dimension)
    this.isUniform &&= event === 'retire' || dimension === this.usual
  }

  refuse(partition: number, version: number): void {
    if (this.said[partition]?.has(version) === true || this.given.has(version)) return
    const early = this.early[partition] ?? new Set<number>()
    this.early[partition] = early.add(version)
  }

  /** Whether rows of a version of `dimension` floats may be among those that were refused. */
  hasRefused(partition: number, version: number, dimension: number): boolean {
    return dimension !== this.usual && this.early[partition]?.has(version) === true
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
