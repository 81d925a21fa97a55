import { isWeirError, messageOf, WeirError } from '../core/errors.ts'
import type { Counter } from '../core/metrics.ts'
import { keyLengthWithoutVersion, versionOfKeyBytes } from '../models/als-row.ts'
import type { ModelRow } from '../models/model-row.ts'
import {
  decodeMarker,
  isMarkerKey,
  type ModelVersionMarker,
} from '../models/model-version-marker.ts'
import { AbstractOperator } from '../operators/abstract-operator.ts'
import type { OperatorContext } from '../operators/operator.ts'

/** A record of the model topic: bytes as stored. */
export interface ModelTopicRecord {
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
}

/** What to do with a record that is no row of this model. */
export type BadRowPolicy = 'drop' | 'fail'

/** Sent to the version coordinator for every marker, again after a restore. */
export interface MarkerSeen {
  readonly kind: 'marker-seen'
  readonly partition: number
  readonly offset: number
  readonly marker: ModelVersionMarker
}

/** Sent to the version coordinator for every dropped record. */
export interface RowDropped {
  readonly kind: 'row-dropped'
  readonly partition: number
  readonly offset: number
  readonly reason: string
}

const STATE = 'markers'
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * Splits the model topic: rows go on, to the owners of their keys; version markers go to the
 * coordinator, which switches a version live once every slot has applied what lies before them.
 */
export class ModelRowsOperator extends AbstractOperator {
  private readonly dimension: number
  private readonly vector: Float32Array
  private readonly bytes: Uint8Array
  private readonly policy: BadRowPolicy
  private readonly seen = new Map<string, MarkerSeen>()
  private dropped!: Counter

  constructor(dimension: number, policy: BadRowPolicy) {
    super()
    this.dimension = dimension
    this.vector = new Float32Array(dimension)
    this.bytes = new Uint8Array(this.vector.buffer)
    this.policy = policy
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.dropped = context.metrics.counter('numRecordsDropped')
    for (const bytes of context.operatorState.restored(STATE)) {
      this.note(JSON.parse(decoder.decode(bytes)) as MarkerSeen)
    }
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as ModelTopicRecord
    try {
      if (record.key !== null && isMarkerKey(record.key)) this.marker(record)
      else this.context.output.collect(this.row(record), timestamp)
    } catch (error) {
      if (this.policy === 'fail' || !isWeirError(error, 'UNPARSABLE_RECORD')) throw error
      this.drop(messageOf(error))
    }
  }

  override prepareSnapshot(): void {
    const entries = [...this.seen.values()].map((seen) => encoder.encode(JSON.stringify(seen)))
    this.context.operatorState.update(STATE, 'split', entries)
  }

  private row(record: ModelTopicRecord): ModelRow {
    const bytes = record.key
    if (bytes === null) {
      throw new WeirError('UNPARSABLE_RECORD', 'a model row has no key; write <id>-U or <id>-I')
    }
    const keyLength = keyLengthWithoutVersion(bytes)
    checkKind(bytes, keyLength)
    const key = keyLength === bytes.length ? bytes : bytes.subarray(0, keyLength)
    return {
      key,
      version: versionOfKeyBytes(bytes, keyLength),
      vector: record.value === null ? undefined : this.vectorOf(record.value),
    }
  }

  /**
   * The floats, in one buffer that every row fills anew: a row is encoded for its owner within the
   * call, and a copy with a buffer of its own takes 1.3 us where this one takes 0.07. The row table
   * checks for NaN.
   */
  private vectorOf(value: Uint8Array): Float32Array {
    if (value.length !== this.bytes.length) {
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `a model row has ${value.length} bytes where ${this.dimension} float32 were expected`,
      )
    }
    this.bytes.set(value)
    return this.vector
  }

  private marker(record: ModelTopicRecord): void {
    if (record.value === null) return
    const { partition, offset } = this.context.position()
    const marker = decodeMarker(record.value)
    if (marker.dimension !== this.dimension) {
      // Its rows are refused one by one, so the version must not go live without them.
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `version ${marker.version} has rows of ${marker.dimension} floats where ${this.dimension} are served`,
      )
    }
    this.note({ kind: 'marker-seen', partition, offset, marker })
  }

  private note(seen: MarkerSeen): void {
    this.seen.set(`${seen.marker.version}/${seen.marker.event}/${seen.partition}`, seen)
    this.context.sendEvent(seen)
  }

  private drop(reason: string): void {
    this.dropped.increment()
    const { partition, offset } = this.context.position()
    const event: RowDropped = { kind: 'row-dropped', partition, offset, reason }
    this.context.sendEvent(event)
  }
}

/** Throws UNPARSABLE_RECORD unless the key ends in `-U` or `-I`. */
function checkKind(key: Uint8Array, length: number): void {
  const kind = key[length - 1]
  if (length >= 3 && key[length - 2] === 0x2d && (kind === 0x55 || kind === 0x49)) return
  throw new WeirError(
    'UNPARSABLE_RECORD',
    `the model key "${decoder.decode(key)}" does not end in -U or -I`,
  )
}
