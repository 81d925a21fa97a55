import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import type { Counter } from '../../core/metrics.ts'
import { count, type OptionKind, oneOf } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { AbstractOperator } from '../../operators/port/abstract-operator.ts'
import type { OperatorContext } from '../../operators/port/operator.ts'
import { hasVersion } from '../registry/ranges/version-ranges.ts'
import {
  decodeMarker,
  isMarkerKey,
  type ModelVersionMarker,
  RETIRED_MARKERS,
  retireMarker,
  versionOfMarkerKey,
} from '../registry/version-marker.ts'
import { keyLengthWithoutVersion, versionOfKeyBytes } from '../versioned-key.ts'
import { BegunVersions } from './begun-versions.ts'
import { isLearned } from './learned-header.ts'
import { keyBytesOf, type ModelTopicRecord, valueBytesOf } from './record.ts'

/** Whether a record that is no row of the model is dropped or fails the job. */
export type BadRowPolicy = 'drop' | 'fail'

/** Uid of the operator that reports version markers to the job's version coordinator. */
export const MODEL_ROWS_UID = 'model-rows'

/** The values of a policy of bad rows. */
export const BAD_ROWS: OptionKind<BadRowPolicy> = oneOf('drop', 'fail')

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

/**
 * Sent to the version coordinator once by each subtask: a value was read as text that has the length of a row of
 * floats, too.
 */
export interface TextTaken {
  readonly kind: 'text-taken'
  readonly partition: number
  readonly offset: number
}

/** From the version coordinator: every slot learns on the version from here on. */
export interface LearningBegan {
  readonly kind: 'learning-began'
  readonly version: number
}

/** From the version coordinator: the registry has made the version live. Kept in checkpoints. */
export interface LiveByRegistry {
  readonly kind: 'live-by-registry'
  readonly version: number
}

/** From the version coordinator: every subtask answers, after the markers that it has sent. */
export interface MarkersAsked {
  readonly kind: 'markers-asked'
}

/** The answer: the coordinator has got every marker that the subtask has read. */
export interface MarkersSent {
  readonly kind: 'markers-sent'
}

const STATE = 'markers'
const LIVE = 'live-by-registry'
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * Splits a model topic: `emit` sends on the rows. Markers go to the version coordinator, which makes a version
 * live when every slot has applied all rows before them. A job that learns on a version does not read again
 * what it writes back of it.
 */
export abstract class ModelTopicOperator extends AbstractOperator {
  protected readonly dimension: number
  private readonly policy: BadRowPolicy
  private readonly seen = new Map<string, MarkerSeen>()
  private dropped!: Counter
  private hasTakenText = false
  /**
   * Versions of the checkpoint. Retired ones are dropped again: its old segments may have rows of them. A slot
   * that had no row of another one may not have opened it.
   */
  private restored: readonly ModelVersionMarker[] = []
  private begun!: BegunVersions
  private learnsAny = false
  /** The version that the registry made live last; undefined if no registry did. */
  private live: number | undefined

  constructor(dimension: number, policy: BadRowPolicy) {
    super()
    checkArgument('the operator of a model topic', 'dimension', count, dimension)
    checkArgument('the operator of a model topic', 'policy', BAD_ROWS, policy)
    this.dimension = dimension
    this.policy = policy
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.dropped = context.metrics.counter('numRecordsDropped')
    this.begun = new BegunVersions(context.operatorState)
    this.learnsAny = this.begun.size > 0
    // Before the markers, which let the coordinator decide what is live.
    for (const bytes of context.operatorState.restored(LIVE)) {
      const live = JSON.parse(decoder.decode(bytes)) as LiveByRegistry
      this.live = live.version
      context.sendEvent(live)
    }
    for (const bytes of context.operatorState.restored(STATE)) {
      this.record(JSON.parse(decoder.decode(bytes)) as MarkerSeen)
    }
    this.restored = [...this.seen.values()].map(({ marker }) => marker)
    if (this.restored.length > 0) context.scheduleProcessingTime(context.clock.nowMs())
  }

  override onProcessingTime(): void {
    const last = new Map(this.restored.map((marker) => [marker.version, marker]))
    for (const marker of last.values()) {
      this.versionSeen(kindOf(marker.event), marker.version, marker.dimension)
    }
    this.restored = []
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as ModelTopicRecord
    try {
      if (isMarkerKey(record.bytes, record.keyStart, record.keyLength)) this.marker(record)
      else if (!this.isOwn(record)) this.emit(record, timestamp)
    } catch (error) {
      if (this.policy === 'fail' || !isWeirError(error, 'UNPARSABLE_RECORD')) throw error
      this.drop(messageOf(error))
    }
  }

  override handleEvent(event: unknown): void {
    const order = event as LearningBegan | MarkersAsked | LiveByRegistry
    if (order.kind === 'live-by-registry') {
      this.live = order.version
      return
    }
    if (order.kind === 'markers-asked') {
      this.context.sendEvent({ kind: 'markers-sent' } satisfies MarkersSent)
    } else if (order.kind === 'learning-began') {
      this.begun.begin(order.version)
      this.learnsAny = true
    }
  }

  override prepareSnapshot(): void {
    if (this.learnsAny) this.begun.snapshot()
    const entries = [...this.seen.values()].map((seen) => encoder.encode(JSON.stringify(seen)))
    this.context.operatorState.update(STATE, 'split', entries)
    if (this.live === undefined) return
    const live: LiveByRegistry = { kind: 'live-by-registry', version: this.live }
    this.context.operatorState.update(LIVE, 'broadcast', [encoder.encode(JSON.stringify(live))])
  }

  /** Sends the row of a record on. Throws UNPARSABLE_RECORD if it is no row of the model. */
  protected abstract emit(record: ModelTopicRecord, timestamp: number): void

  /**
   * Lets every owner of rows open a version, so that it knows it without a row of it, or drop it. `dimension`: floats of its
   * rows.
   */
  protected abstract versionSeen(kind: 'open' | 'retire', version: number, dimension: number): void

  /** Throws UNPARSABLE_RECORD for a version whose rows this operator does not take. */
  protected requireRows({ version, dimension }: ModelVersionMarker): void {
    if (dimension === this.dimension) return
    // Its rows are dropped, so the version must not go live without them.
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `version ${version} has rows of ${dimension} floats where ${this.dimension} are served`,
    )
  }

  /** A marker of a partition is known from here on: it was read, or a checkpoint has it. */
  protected markerKnown(_seen: MarkerSeen): void {}

  /** A marker of a version that is published was read, after every owner of rows had been asked to open the version. */
  protected versionRead(_marker: ModelVersionMarker): void {}

  /** A marker was read. Compaction may have left only the last one of a version. */
  private markerSeen(marker: ModelVersionMarker): void {
    const { event, version, dimension } = marker
    const kind = kindOf(event)
    if (kind === 'retire' || this.context.position().partition === 0) {
      this.versionSeen(kind, version, dimension)
      if (kind === 'open') this.versionRead(marker)
    }
  }

  /** Whether this job wrote the row back: it has learned more of it since. */
  private isOwn(record: ModelTopicRecord): boolean {
    const { bytes, keyStart, keyLength } = record
    if (!this.learnsAny || keyLength < 0) return false
    const length = keyLengthWithoutVersion(bytes, keyStart, keyLength)
    const version = versionOfKeyBytes(bytes, length, keyStart, keyLength)
    return this.begun.has(version) && isLearned(record.headers?.() ?? [])
  }

  private marker(record: ModelTopicRecord): void {
    const value = valueBytesOf(record)
    const { partition, offset } = this.context.position()
    if (value === null) {
      const version = versionOfMarkerKey(keyBytesOf(record)!)
      this.retireKnown((known) => known === version, { partition, offset })
      return
    }
    const marker = decodeMarker(value)
    this.requireRows(marker)
    this.record({ kind: 'marker-seen', partition, offset, marker })
    this.markerSeen(marker)
    const { forgotten = [] } = marker
    if (forgotten.length > 0) {
      this.retireKnown((known) => hasVersion(forgotten, known), { partition, offset })
    }
  }

  /**
   * Retires versions whose own `retire` marker was deleted before this operator read it. In another partition
   * a version may have been published again since.
   */
  private retireKnown(
    isRetired: (version: number) => boolean,
    position: { readonly partition: number; readonly offset: number },
  ): void {
    const present = [...this.seen.values()].filter(
      ({ marker, partition }) => marker.event !== 'retire' && partition === position.partition,
    )
    const markers = new Map(present.map(({ marker }) => [marker.version, marker]))
    for (const [version, marker] of markers) {
      if (!isRetired(version)) continue
      const retired = retireMarker(marker, {})
      this.record({ kind: 'marker-seen', ...position, marker: retired })
      this.markerSeen(retired)
    }
  }

  private record(seen: MarkerSeen): void {
    const { event, version } = seen.marker
    if (event === 'retire') this.forget(version)
    this.seen.set(`${seen.marker.version}/${seen.marker.event}/${seen.partition}`, seen)
    this.markerKnown(seen)
    this.context.sendEvent(seen)
  }

  /**
   * Forgets the markers of a retired version, and of those that were retired long ago. Of the others rows may
   * still be in segments of a checkpoint.
   */
  private forget(version: number): void {
    const retired: string[] = []
    for (const [name, { marker }] of this.seen) {
      if (marker.event === 'retire') retired.push(name)
      else if (marker.version === version) this.seen.delete(name)
    }
    for (const name of retired.slice(0, -RETIRED_MARKERS)) this.seen.delete(name)
  }

  /** Says that a value of the length of a row of floats was read as text. */
  protected tookText(): void {
    if (this.hasTakenText) return
    this.hasTakenText = true
    const { partition, offset } = this.context.position()
    this.context.sendEvent({ kind: 'text-taken', partition, offset } satisfies TextTaken)
  }

  private drop(reason: string): void {
    this.dropped.increment()
    const { partition, offset } = this.context.position()
    const event: RowDropped = { kind: 'row-dropped', partition, offset, reason }
    this.context.sendEvent(event)
  }
}

/** What a marker means for the owners of rows. */
function kindOf(event: ModelVersionMarker['event']): 'open' | 'retire' {
  return event === 'retire' ? 'retire' : 'open'
}
