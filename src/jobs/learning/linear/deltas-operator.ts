import { isWeirError } from '../../../core/errors.ts'
import type { Counter } from '../../../core/metrics.ts'
import {
  attemptTagOf,
  decodeLinearDelta,
  LINEAR_PHASES,
  type LinearDelta,
} from '../../../models/linear/delta.ts'
import type { WeightUpdate } from '../../../models/linear/weight-update.ts'
import { BegunVersions } from '../../../models/topic/begun-versions.ts'
import { type ModelTopicRecord, valueBytesOf } from '../../../models/topic/record.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { blocksOf } from '../../../serving/sparse/block-products.ts'
import { DeltaDeduplicator, type SeenOffset } from '../delta-deduplicator.ts'
import { LearningGate } from '../gate.ts'
import { type GateOrder, phaseIn } from '../messages.ts'
import { StepFolds } from './step-folds.ts'

/** Operator state of the deltas seen. */
export const SEEN_LINEAR_DELTAS = 'highest-offsets'
const encoder = new TextEncoder()
/** Version of an entry of a checkpoint of an earlier build, which did not keep it. */
const UNKNOWN_VERSION = 0
/** All keys of an observations partition are one source of deltas. */
const ANY_KEY_GROUP = 0

/**
 * Reads the deltas topic of a linear model, drops duplicates and sends each block's part to the owner
 * of the block. Deltas of another phase of learning are dropped: what was learned in it is forgotten.
 */
export class LinearDeltasOperator extends LearningGate {
  private readonly range: number
  private readonly deduplicator = new DeltaDeduplicator()
  /** By deltas partition, entries without a version: they are of the version of the next delta. */
  private readonly unversioned = new Map<number, SeenOffset[]>()
  private begun!: BegunVersions
  private folds: StepFolds | undefined
  private order: GateOrder | undefined
  private duplicates!: Counter
  private dropped!: Counter

  /** `range`: features of one block. */
  constructor(range: number) {
    super()
    this.range = range
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.duplicates = context.metrics.counter('deltasDuplicate')
    this.dropped = context.metrics.counter('numRecordsDropped')
    this.begun = new BegunVersions(context.operatorState)
    // Every subtask gets all entries; those of partitions that it does not read are not used.
    for (const entry of context.operatorState.restored(SEEN_LINEAR_DELTAS)) {
      this.restore(decodeSeen(entry))
    }
  }

  protected override letThrough(order: GateOrder): void {
    const { version, folded = [], inFlight } = order
    this.order = order
    this.folds = new StepFolds(inFlight)
    if (this.begun.begin(version)) for (const seen of folded) this.deduplicator.restore(seen)
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const bytes = valueBytesOf(value as ModelTopicRecord)
    const delta = this.deltaOf(bytes)
    // The examples of other attempts are not in the count of this one.
    const isCounted = bytes !== null && attemptTagOf(bytes) === this.inFlight?.attemptTag
    const isOfPhase = delta !== undefined && this.isOfPhase(delta)
    if (isOfPhase && this.isNew(delta)) {
      if (!isCounted) this.inFlight?.enter()
      this.sendBlocks(delta, timestamp)
      return
    }
    if (isOfPhase) this.duplicates.increment()
    else if (delta !== undefined) this.dropped.increment()
    if (isCounted) this.inFlight?.leave()
  }

  override prepareSnapshot(): void {
    const seen = [...this.deduplicator.seen(), ...[...this.unversioned.values()].flat()]
    const entries = seen.map(encodeSeen)
    this.begun.snapshot()
    this.context.operatorState.update(SEEN_LINEAR_DELTAS, 'union', entries)
  }

  private restore(seen: SeenOffset): void {
    if (seen.version !== UNKNOWN_VERSION) {
      this.deduplicator.restore(seen)
      return
    }
    const { deltaPartition } = seen
    const entries = this.unversioned.get(deltaPartition)
    if (entries === undefined) this.unversioned.set(deltaPartition, [seen])
    else entries.push(seen)
  }

  private deltaOf(bytes: Uint8Array | null): LinearDelta | undefined {
    try {
      if (bytes !== null) return decodeLinearDelta(bytes)
    } catch (error) {
      if (!isWeirError(error, 'UNPARSABLE_RECORD')) throw error
    }
    this.dropped.increment()
    return undefined
  }

  private isOfPhase({ version, phase = 0 }: LinearDelta): boolean {
    return this.order === undefined || phaseIn(this.order, version) % LINEAR_PHASES === phase
  }

  private isNew({ version, partition, offset }: LinearDelta): boolean {
    const deltas = this.context.position().partition
    if (this.unversioned.size > 0) this.adopt(deltas, version)
    return this.deduplicator.isNew(deltas, version, partition, ANY_KEY_GROUP, offset)
  }

  private adopt(deltaPartition: number, version: number): void {
    for (const seen of this.unversioned.get(deltaPartition) ?? []) {
      this.deduplicator.restore({ ...seen, version })
    }
    this.unversioned.delete(deltaPartition)
  }

  private sendBlocks(delta: LinearDelta, timestamp: number): void {
    const { ids, values, derivative, rate, version } = delta
    const blocks = blocksOf(ids, this.range)
    const ticket = this.folds?.begin(blocks.length) ?? 0
    for (const { key, from, to } of blocks) {
      const update: WeightUpdate = {
        kind: 'step',
        key: encoder.encode(key),
        version,
        ticket,
        derivative,
        rate,
        indices: indicesOf(ids, from, to, Number(key) * this.range),
        values: values.subarray(from, to),
      }
      this.context.output.collect(update, timestamp)
    }
  }
}

/** Indices of the features `ids[from .. to)` inside the block that begins with the feature `first`. */
function indicesOf(ids: Uint32Array, from: number, to: number, first: number): Uint16Array {
  const indices = new Uint16Array(to - from)
  for (let k = from; k < to; k++) indices[k - from] = ids[k]! - first
  return indices
}

const WITHOUT_VERSION = 16
const WITH_VERSION = 20

/**
 * One entry of operator state: `| deltas partition u32 | observations partition u32 | offset f64 | version
 * u32 |`. Entries of earlier builds have no version.
 */
export function encodeSeen({ deltaPartition, version, partition, offset }: SeenOffset): Uint8Array {
  const isKnown = version !== UNKNOWN_VERSION
  const entry = new DataView(new ArrayBuffer(isKnown ? WITH_VERSION : WITHOUT_VERSION))
  entry.setUint32(0, deltaPartition, true)
  entry.setUint32(4, partition, true)
  entry.setFloat64(8, offset, true)
  if (isKnown) entry.setUint32(16, version, true)
  return new Uint8Array(entry.buffer)
}

/** Reads an entry of `encodeSeen`. */
export function decodeSeen(entry: Uint8Array): SeenOffset {
  const view = new DataView(entry.buffer, entry.byteOffset, entry.byteLength)
  return {
    deltaPartition: view.getUint32(0, true),
    version: view.byteLength < WITH_VERSION ? UNKNOWN_VERSION : view.getUint32(16, true),
    partition: view.getUint32(4, true),
    sourceKeyGroup: ANY_KEY_GROUP,
    offset: view.getFloat64(8, true),
  }
}
