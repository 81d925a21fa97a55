import { emptySpan } from '../../../core/byte-span.ts'
import { isWeirError } from '../../../core/errors.ts'
import type { Counter } from '../../../core/metrics.ts'
import {
  MOST_PHASES,
  ModelDeltaBuffer,
  type ModelDeltaKind,
  NO_SOURCE_KEY_GROUP,
} from '../../../models/als/online/model-delta.ts'
import { BegunVersions } from '../../../models/topic/begun-versions.ts'
import type { ModelTopicRecord } from '../../../models/topic/record.ts'
import { keyLengthWithoutVersion, versionOfKeyBytes } from '../../../models/versioned-key.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { DeltaDeduplicator, type SeenOffset } from '../delta-deduplicator.ts'
import { LearningGate } from '../gate.ts'
import { type GateOrder, phaseIn } from '../messages.ts'
import type { ResumeOffset } from '../resume-offsets.ts'
import { EarlierDeltas } from './earlier-deltas.ts'
import type { MutableDelta } from './records.ts'

/** Most floats of a delta: those of the longest row, and what a rule adds. */
const MOST_FLOATS = 2 ** 17

/** Operator state of the deltas seen. */
export const SEEN_DELTAS = 'lanes'

/**
 * Reads the deltas topic, drops duplicates and sends the other deltas to the owners of their items.
 *
 * A source of deltas is one rating partition, version and key group of users, which one slot owns at a
 * time. Deltas of a version that some learner does not know are dropped and not recorded as seen: the
 * version learns their ratings again when it goes live. A delta of an attempt before is in flight from here on, until it
 * is folded (`InFlightLimit`). Deltas of another phase of learning are dropped alike: what was learned in it is forgotten.
 *
 * Sums of deltas come once, in transactions of checkpoints. Those that the rows of a version include when the job begins on it
 * are known by their own offsets, and those that the job sends again are left out (`EarlierDeltas`).
 */
export class DeltasOperator extends LearningGate {
  private readonly kind: ModelDeltaKind
  private readonly sendsSums: boolean
  private buffer: ModelDeltaBuffer
  private readonly record: MutableDelta
  private readonly deduplicator = new DeltaDeduplicator()
  private begun!: BegunVersions
  private earlier!: EarlierDeltas
  /** The phases of learning of the versions whose deltas are taken. */
  private known: ReadonlyMap<number, number> = new Map()
  private duplicates!: Counter
  private dropped!: Counter

  /**
   * Kind of the rule's deltas, and floats of most of them: versions may have rows of different lengths. `sendsSums`: this job
   * sums deltas, so none that comes again is recognized.
   */
  constructor(kind: ModelDeltaKind, length: number, sendsSums = false) {
    super()
    this.kind = kind
    this.sendsSums = sendsSums
    this.buffer = new ModelDeltaBuffer(kind, length)
    const { values } = this.buffer
    this.record = { kind: 'delta', key: emptySpan(), version: 0, partition: 0, offset: 0, values }
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.duplicates = context.metrics.counter('deltasDuplicate')
    this.dropped = context.metrics.counter('deltasDropped')
    this.begun = new BegunVersions(context.operatorState)
    this.earlier = new EarlierDeltas(context.operatorState)
    for (const bytes of context.operatorState.restored(SEEN_DELTAS)) this.restore(bytes)
  }

  protected override letThrough(order: GateOrder): void {
    const { known, version, folded = [], deltaEnds: ends, restoredNext, resumeOffsets } = order
    this.known = new Map(known.map((number) => [number, phaseIn(order, number) % MOST_PHASES]))
    const isNew = this.begun.begin(version)
    if (isNew) for (const seen of folded) this.deduplicator.restore(seen)
    if (ends === undefined) return
    if (restoredNext !== undefined) this.earlier.found(version, { ends, next: restoredNext })
    else if (isNew) this.earlier.found(version, { ends, next: nextOf(resumeOffsets) })
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const topicRecord = value as ModelTopicRecord
    const { bytes, keyStart, keyLength } = topicRecord
    if (keyLength < 0 || !this.load(topicRecord)) {
      this.dropped.increment()
      return
    }
    const { buffer, record } = this
    const { key } = record
    record.values = buffer.values
    key.bytes = bytes
    key.start = keyStart
    key.length = keyLengthWithoutVersion(bytes, keyStart, keyLength)
    record.version = versionOfKeyBytes(bytes, key.length, keyStart, keyLength)
    record.partition = buffer.partition
    record.offset = buffer.offset
    const { inFlight } = this
    // The ratings of other attempts are not in the count of this one.
    const isCounted = buffer.attemptTag === inFlight?.attemptTag
    const isKnown = this.known.get(record.version) === buffer.phase
    if (isKnown && this.isNew(this.context.position())) {
      if (!isCounted) inFlight?.enter()
      this.context.output.collect(record, timestamp)
      return
    }
    if (isKnown) this.duplicates.increment()
    else this.dropped.increment()
    if (isCounted) inFlight?.leave()
  }

  override prepareSnapshot(): void {
    this.begun.snapshot()
    this.earlier.snapshot()
    this.context.operatorState.update(SEEN_DELTAS, 'union', encodeSeen(this.deduplicator.seen()))
  }

  private load({ bytes, valueStart, valueLength }: ModelTopicRecord): boolean {
    if (valueLength < 0) return false
    const floats = ModelDeltaBuffer.floatsOf(bytes, valueStart, valueLength)
    if (floats === 0 || floats > MOST_FLOATS) return false
    if (floats !== this.buffer.values.length) this.buffer = new ModelDeltaBuffer(this.kind, floats)
    try {
      this.buffer.load(bytes, valueStart, valueLength)
      return true
    } catch (error) {
      if (isWeirError(error, 'UNPARSABLE_RECORD')) return false
      throw error
    }
  }

  /** `delta`: where it is in the deltas topic. */
  private isNew(delta: { readonly partition: number; readonly offset: number }): boolean {
    const { sourceKeyGroup } = this.buffer
    const { record, deduplicator } = this
    const { version, partition, offset } = record
    const isSum = sourceKeyGroup === NO_SOURCE_KEY_GROUP
    const isNew = isSum
      ? deduplicator.isNewSum(delta.partition, version, delta.offset)
      : deduplicator.isNew(delta.partition, version, partition, sourceKeyGroup, offset)
    if (!isNew || !(isSum || this.sendsSums)) return isNew
    return !this.earlier.leavesOut(version, delta, record)
  }

  /** Every subtask gets all entries; it takes those of the partitions that it reads. */
  private restore(entry: Uint8Array): void {
    const { subtask, parallelism } = this.context
    for (const seen of decodeSeen(entry)) {
      if (seen.deltaPartition % parallelism === subtask) this.deduplicator.restore(seen)
    }
  }
}

/** By partition, the first offset that a version has not learned; 0 where that is not known. */
function nextOf(offsets: readonly ResumeOffset[]): readonly number[] {
  const next: number[] = []
  for (const { partition, next: first } of offsets) next[partition] = first
  return Array.from(next, (first = 0) => first)
}

/** Bytes of one offset in a checkpoint. */
const OFFSET_BYTES = 18

/**
 * Entries of operator state, one for each delta partition:
 *
 *   | delta partition u32 | { version u32 | rating partition u32 | source key group u16 | offset f64 } ... |
 */
export function encodeSeen(seen: Iterable<SeenOffset>): Uint8Array[] {
  const groups = Map.groupBy(seen, ({ deltaPartition }) => deltaPartition)
  return [...groups].map(([deltaPartition, offsets]) => {
    const entry = new Uint8Array(4 + offsets.length * OFFSET_BYTES)
    const view = new DataView(entry.buffer)
    view.setUint32(0, deltaPartition, true)
    offsets.forEach(({ version, partition, sourceKeyGroup, offset }, i) => {
      const at = 4 + i * OFFSET_BYTES
      view.setUint32(at, version, true)
      view.setUint32(at + 4, partition, true)
      view.setUint16(at + 8, sourceKeyGroup, true)
      view.setFloat64(at + 10, offset, true)
    })
    return entry
  })
}

/** Reads an entry of `encodeSeen`. */
export function* decodeSeen(entry: Uint8Array): Iterable<SeenOffset> {
  const view = new DataView(entry.buffer, entry.byteOffset, entry.byteLength)
  const deltaPartition = view.getUint32(0, true)
  for (let at = 4; at + OFFSET_BYTES <= entry.length; at += OFFSET_BYTES) {
    yield {
      deltaPartition,
      version: view.getUint32(at, true),
      partition: view.getUint32(at + 4, true),
      sourceKeyGroup: view.getUint16(at + 8, true),
      offset: view.getFloat64(at + 10, true),
    }
  }
}
