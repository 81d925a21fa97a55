import { isWeirError, messageOf, WeirError } from '../core/errors.ts'
import type { Counter } from '../core/metrics.ts'
import {
  decodeMarker,
  isMarkerKey,
  type ModelVersionMarker,
} from '../models/model-version-marker.ts'
import { AbstractOperator } from '../operators/abstract-operator.ts'
import type { OperatorContext } from '../operators/operator.ts'
import { type ModelTopicRecord, valueBytesOf } from './model-topic-record.ts'

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
 * Splits a model topic: what is no version marker goes on as `emit` says; markers go to the
 * coordinator, which switches a version live once every slot has applied what lies before them.
 */
export abstract class ModelTopicOperator extends AbstractOperator {
  protected readonly dimension: number
  private readonly policy: BadRowPolicy
  private readonly seen = new Map<string, MarkerSeen>()
  private dropped!: Counter
  /** Retired versions of the checkpoint: old segments may hold rows of them, which are dropped again. */
  private retired: readonly ModelVersionMarker[] = []

  constructor(dimension: number, policy: BadRowPolicy) {
    super()
    this.dimension = dimension
    this.policy = policy
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.dropped = context.metrics.counter('numRecordsDropped')
    for (const bytes of context.operatorState.restored(STATE)) {
      this.note(JSON.parse(decoder.decode(bytes)) as MarkerSeen)
    }
    const restored = [...this.seen.values()].map(({ marker }) => marker)
    this.retired = restored.filter(({ event }) => event === 'retire')
    if (this.retired.length > 0) context.scheduleProcessingTime(context.clock.nowMs())
  }

  override onProcessingTime(): void {
    for (const marker of this.retired) this.markerSeen(marker)
    this.retired = []
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as ModelTopicRecord
    try {
      if (isMarkerKey(record.bytes, record.keyStart, record.keyLength)) this.marker(record)
      else this.emit(record, timestamp)
    } catch (error) {
      if (this.policy === 'fail' || !isWeirError(error, 'UNPARSABLE_RECORD')) throw error
      this.drop(messageOf(error))
    }
  }

  override prepareSnapshot(): void {
    const entries = [...this.seen.values()].map((seen) => encoder.encode(JSON.stringify(seen)))
    this.context.operatorState.update(STATE, 'split', entries)
  }

  /** Passes on what a record holds. Throws UNPARSABLE_RECORD when that is no row of the model. */
  protected abstract emit(record: ModelTopicRecord, timestamp: number): void

  /** A marker was seen, for the first time or not; its coordinator was told. */
  protected markerSeen(_marker: ModelVersionMarker): void {}

  private marker(record: ModelTopicRecord): void {
    const value = valueBytesOf(record)
    if (value === null) return
    const { partition, offset } = this.context.position()
    const marker = decodeMarker(value)
    if (marker.dimension !== this.dimension) {
      // Its rows are refused one by one, so the version must not go live without them.
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `version ${marker.version} has rows of ${marker.dimension} floats where ${this.dimension} are served`,
      )
    }
    this.note({ kind: 'marker-seen', partition, offset, marker })
    this.markerSeen(marker)
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
