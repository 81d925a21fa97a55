import { emptySpan } from '../core/byte-span.ts'
import { isWeirError } from '../core/errors.ts'
import type { Counter } from '../core/metrics.ts'
import { keyLengthWithoutVersion, versionOfKeyBytes } from '../models/als-row.ts'
import { DeltaBuffer, NO_LANE } from '../models/delta-buffer.ts'
import type { OperatorContext } from '../operators/operator.ts'
import type { ModelTopicRecord } from './model-topic-record.ts'
import type { GateOrder } from './online-coordinator.ts'
import { GatedByLearning } from './online-gate.ts'
import type { MutableDelta } from './online-records.ts'

const STATE = 'lanes'
/** Bytes of one lane's offset in a checkpoint. */
const LANE_BYTES = 18

/**
 * Reads the deltas topic, drops those that came twice and hands the others on to the owners of their
 * items.
 *
 * A learner that goes back to a checkpoint sends deltas again, and because rows have moved they are
 * not the same; the first one counts. All deltas of a delta partition pass here in order, and those of
 * one version, rating partition and lane (key group of the user, which one slot owns at a time) keep
 * the order of their ratings: so what is not above the highest offset seen came before. Deltas of a
 * version that some learner does not know are dropped as if they had not come: its ratings are learned
 * again when it goes live.
 */
export class DeltasOperator extends GatedByLearning {
  private readonly buffer: DeltaBuffer
  private readonly record: MutableDelta
  private readonly highest = new Map<number, LaneOffsets>()
  private known: ReadonlySet<number> = new Set()
  private duplicates!: Counter
  private dropped!: Counter

  constructor(kind: 'step' | 'gram', length: number) {
    super()
    this.buffer = new DeltaBuffer(kind, length)
    const { values } = this.buffer
    this.record = { kind: 'delta', key: emptySpan(), version: 0, partition: 0, offset: 0, values }
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.duplicates = context.metrics.counter('deltasDuplicate')
    this.dropped = context.metrics.counter('deltasDropped')
    for (const bytes of context.operatorState.restored(STATE)) this.restore(bytes)
  }

  protected override letThrough({ known }: GateOrder): void {
    this.known = new Set(known)
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
    key.bytes = bytes
    key.start = keyStart
    key.length = keyLengthWithoutVersion(bytes, keyStart, keyLength)
    record.version = versionOfKeyBytes(bytes, key.length, keyStart, keyLength)
    record.partition = buffer.partition
    record.offset = buffer.offset
    if (!this.known.has(record.version)) {
      this.dropped.increment()
      this.flow?.leave()
      return
    }
    if (this.isNew(this.context.position().partition)) {
      this.context.output.collect(record, timestamp)
    } else {
      this.duplicates.increment()
      this.flow?.leave()
    }
  }

  override prepareSnapshot(): void {
    const entries: Uint8Array[] = []
    for (const [partition, offsets] of this.highest) offsets.encodeInto(partition, entries)
    this.context.operatorState.update(STATE, 'union', entries)
  }

  private load({ bytes, valueStart, valueLength }: ModelTopicRecord): boolean {
    if (valueLength < 0) return false
    try {
      this.buffer.load(bytes, valueStart, valueLength)
      return true
    } catch (error) {
      if (isWeirError(error, 'UNPARSABLE_RECORD')) return false
      throw error
    }
  }

  private isNew(deltaPartition: number): boolean {
    const { lane } = this.buffer
    if (lane === NO_LANE) return true
    let offsets = this.highest.get(deltaPartition)
    if (offsets === undefined) {
      offsets = new LaneOffsets()
      this.highest.set(deltaPartition, offsets)
    }
    const { version, partition, offset } = this.record
    return offsets.raise(version, partition, lane, offset)
  }

  /** Every subtask is given all entries; those of partitions that it does not read do no harm. */
  private restore(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const partition = view.getUint32(0, true)
    if (partition % this.context.parallelism !== this.context.subtask) return
    let offsets = this.highest.get(partition)
    if (offsets === undefined) {
      offsets = new LaneOffsets()
      this.highest.set(partition, offsets)
    }
    for (let at = 4; at + LANE_BYTES <= bytes.length; at += LANE_BYTES) {
      offsets.raise(
        view.getUint32(at, true),
        view.getUint32(at + 4, true),
        view.getUint16(at + 8, true),
        view.getFloat64(at + 10, true),
      )
    }
  }
}

/** Highest offsets of one delta partition, by version, rating partition and lane. */
class LaneOffsets {
  private readonly byVersion = new Map<number, Float64Array[]>()
  private lastVersion = -1
  private last: Float64Array[] = []

  /** Notes an offset; false when it is not above the highest. */
  raise(version: number, partition: number, lane: number, offset: number): boolean {
    if (version !== this.lastVersion) this.select(version)
    let offsets = this.last[partition]
    if (offsets === undefined || lane >= offsets.length) {
      offsets = grown(offsets, lane)
      this.last[partition] = offsets
    }
    if (offset <= offsets[lane]!) return false
    offsets[lane] = offset
    return true
  }

  private select(version: number): void {
    let offsets = this.byVersion.get(version)
    if (offsets === undefined) {
      offsets = []
      this.byVersion.set(version, offsets)
      // Deltas of a version end when the next one is learned on; two are plenty.
      const oldest = Math.min(...this.byVersion.keys())
      if (this.byVersion.size > 3 && oldest !== version) this.byVersion.delete(oldest)
    }
    this.lastVersion = version
    this.last = offsets
  }

  /** One entry: | delta partition u32 | { version u32 | rating partition u32 | lane u16 | offset f64 } ... | */
  encodeInto(deltaPartition: number, entries: Uint8Array[]): void {
    const parts: number[][] = []
    for (const [version, partitions] of this.byVersion) {
      partitions.forEach((offsets, partition) => {
        offsets.forEach((offset, lane) => {
          if (offset >= 0) parts.push([version, partition, lane, offset])
        })
      })
    }
    const entry = new Uint8Array(4 + parts.length * LANE_BYTES)
    const view = new DataView(entry.buffer)
    view.setUint32(0, deltaPartition, true)
    parts.forEach(([version, partition, lane, offset], i) => {
      const at = 4 + i * LANE_BYTES
      view.setUint32(at, version!, true)
      view.setUint32(at + 4, partition!, true)
      view.setUint16(at + 8, lane!, true)
      view.setFloat64(at + 10, offset!, true)
    })
    entries.push(entry)
  }
}

/** Offsets for lanes up to `lane`, -1 where none was seen. */
function grown(before: Float64Array | undefined, lane: number): Float64Array {
  const offsets = new Float64Array(Math.max(128, 2 ** Math.ceil(Math.log2(lane + 1)))).fill(-1)
  if (before !== undefined) offsets.set(before)
  return offsets
}
