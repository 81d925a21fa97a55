import { isWeirError } from '../../../core/errors.ts'
import { BIAS_FEATURE, MOST_FEATURES } from '../../../core/feature.ts'
import type { Counter } from '../../../core/metrics.ts'
import type { SourcePosition } from '../../../core/position.ts'
import type { LinearDelta } from '../../../models/linear/delta.ts'
import { ExampleRecordReader, type ExampleView } from '../../../models/linear/example-record.ts'
import {
  type OnlineLinearOptions,
  OnlineLinearRule,
  type OnlineLinearSettings,
} from '../../../models/linear/online-rule.ts'
import type { TrainedWith } from '../../../models/linear/trained-with.ts'
import type { PrequentialOptions } from '../../../models/quality/prequential-error.ts'
import { type ModelTopicRecord, valueBytesOf } from '../../../models/topic/record.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { blockProducts, blocksOf } from '../../../serving/sparse/block-products.ts'
import { SlotWeights } from '../../../serving/sparse/slot-weights.ts'
import { SlotRowReader } from '../../../state/catalog/slot-row-reader.ts'
import type { GateOrder } from '../messages.ts'
import { ObservationsGate } from '../observations-gate.ts'
import { Refusals } from '../refused.ts'
import type { SameEventOptions } from '../seen-events.ts'
import { LinearLiveError } from './live-error.ts'

/** Options of the operator. */
export interface LinearObservationsOptions {
  /** Features of one block. */
  readonly range: number
  /** @default the loss of the version, hinge where it does not say one */
  readonly rule: OnlineLinearSettings
  /** Uid of the operator that owns the weights. */
  readonly modelUid: string
  /** Label of the positive examples of a version that does not say its labels. @default every label above 0 */
  readonly positiveLabel?: number | undefined
  /** The ids of features are below it. @default that of training, 2^27 */
  readonly maxFeatures?: number | undefined
  /** Observations in flight: steps on weights of long ago overshoot when many are folded at once. */
  readonly mostInFlight: number
  readonly prequential?: PrequentialOptions | undefined
  readonly sameEvent?: SameEventOptions | undefined
}

/** An example that waits for others to be folded, or for blocks of weights that are in a store. */
interface HeldExample {
  readonly version: number
  readonly rule: OnlineLinearRule
  /** 1 or -1. */
  readonly label: number
  readonly ids: Uint32Array
  readonly values: Float32Array
  readonly timestamp: number
  readonly position: SourcePosition
}

/**
 * Reads labelled observations in LIBSVM's format, one a record, predicts each from the weights in the
 * memory of all slots, and sends one delta for each. While too many examples are in flight, the next one waits; so it
 * does for blocks that are in the stores of slots, which it asks for. The examples after it keep their place. A record that is no example is refused. After a failure it reads
 * observations again; the readers of the deltas topic drop the deltas that come twice.
 */
export class LinearObservationsOperator extends ObservationsGate {
  private readonly settings: OnlineLinearSettings
  /** Of the version that is learned on. */
  private rule: OnlineLinearRule
  private labels: TrainedWith['labels']
  private readonly range: number
  private readonly modelUid: string
  private readonly maxFeatures: number
  private readonly examples = new ExampleRecordReader()
  private readonly positiveLabel: number | undefined
  /** By partition, the version that it was learned on last in this attempt. */
  private readonly learnedOn: number[] = []
  private weights!: SlotWeights
  private timestamp = -1
  private readonly prequential: PrequentialOptions
  private error!: LinearLiveError
  private read!: Counter
  private learned!: Counter
  private refusals!: Refusals
  private stored!: StoredWeights
  private asked!: Counter
  /** In their order; the chain is suspended while there are some. */
  private readonly held: HeldExample[] = []

  constructor(options: LinearObservationsOptions) {
    const { range, rule, modelUid, mostInFlight, positiveLabel, prequential = {} } = options
    super(mostInFlight, options.sameEvent)
    this.maxFeatures = options.maxFeatures ?? MOST_FEATURES
    this.range = range
    this.settings = rule
    this.rule = ruleOf(rule)
    this.modelUid = modelUid
    this.prequential = prequential
    this.positiveLabel = positiveLabel
  }

  override open(context: OperatorContext): void {
    super.open(context)
    const { metrics, rowTables } = context
    const { modelUid: uid, range } = this
    this.weights = new SlotWeights({ rowTables, uid, state: 'weights', range })
    this.learned = metrics.counter('observationsLearned')
    this.refusals = new Refusals(context, 'observationsRefused')
    this.read = metrics.counter('observationsRead')
    this.stored = new StoredWeights({ context, uid, state: 'weights', range })
    this.asked = metrics.counter('examplesAsked')
    this.error = new LinearLiveError(context, this.prequential)
  }

  protected override letThrough(order: GateOrder): void {
    super.letThrough(order)
    const { loss, labels } = order.trainedWith ?? {}
    this.rule = ruleOf(this.settings, loss)
    this.labels = labels
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.read.increment()
    const record = value as ModelTopicRecord
    this.timestamp = timestamp
    this.recordVersion(this.context.position().partition)
    const example = this.exampleOf(valueBytesOf(record))
    if (example === undefined) {
      this.refusals.refuseRecord(record, 'unparsable', timestamp)
      return
    }
    const { label, ids, values, count } = example
    const side = this.sideOf(label)
    // A feature makes a block of weights: without a limit a stranger fills the disk with ids.
    const isTooWide = count > 0 && ids[count - 1]! >= this.maxFeatures
    if (side === 0) this.refusals.refuseRecord(record, 'unknown-label', timestamp)
    else if (isTooWide) this.refusals.refuseRecord(record, 'too-many-features', timestamp)
    else if (!this.isRepeated(record)) this.learn(side, ids, values, count)
  }

  private exampleOf(bytes: Uint8Array | null): ExampleView | undefined {
    try {
      return this.examples.read(bytes)
    } catch (error) {
      if (isWeirError(error, 'UNPARSABLE_RECORD')) return undefined
      throw error
    }
  }

  /** 1 for a positive example, -1 for a negative one, 0 where the version knows no such label. */
  private sideOf(label: number): 1 | -1 | 0 {
    const { labels, positiveLabel } = this
    if (labels !== undefined && label !== labels.positive) {
      return label === labels.negative ? -1 : 0
    }
    if (labels !== undefined) return 1
    const isPositive = positiveLabel === undefined ? label > 0 : label === positiveLabel
    return isPositive ? 1 : -1
  }

  override onProcessingTime(timestampMs: number): void {
    this.error.emitDue(timestampMs)
  }

  override prepareSnapshot(): void {
    super.prepareSnapshot()
    this.error.snapshot()
  }

  private recordVersion(partition: number): void {
    if (this.learnedOn[partition] === this.version) return
    this.learnedOn[partition] = this.version
    this.resumeOffsets?.learns(partition, this.version)
  }

  private learn(label: number, indexes: Uint32Array, given: Float32Array, count: number): void {
    const ids = new Uint32Array(count + 1)
    const values = new Float32Array(count + 1)
    ids.set(indexes.subarray(0, count))
    values.set(given.subarray(0, count))
    ids[count] = BIAS_FEATURE
    values[count] = 1
    const { version, rule, timestamp } = this
    const example = { version, rule, label, ids, values, timestamp }
    // What the source has read behind an example that waits keeps its place.
    if (this.held.length === 0 && this.inFlight?.tryEnter() !== false) {
      const decision = this.weights.product(version, ids, values)
      if (!this.weights.isOutOfReach) {
        this.step(example, decision)
        return
      }
      this.inFlight?.leave()
    }
    this.hold({ ...example, position: { ...this.context.position() } })
  }

  private hold(example: HeldExample): void {
    this.held.push(example)
    if (this.held.length === 1) this.context.suspend(() => this.learnHeld())
  }

  private async learnHeld(): Promise<void> {
    for (let next = this.held[0]; next !== undefined; next = this.held[0]) {
      while (this.inFlight?.tryEnter() === false) {
        await this.whenReady()
        if (this.isClosed) return
      }
      const { version, ids, values, position } = next
      const decision = this.weights.product(version, ids, values)
      const isOutOfReach = this.weights.isOutOfReach
      const whole = isOutOfReach ? await this.stored.product(version, ids, values) : decision
      if (isOutOfReach) this.asked.increment()
      this.context.resumeAt(position)
      this.step(next, whole)
      this.held.shift()
    }
  }

  /** Learns an example that is in flight. */
  private step(example: Omit<HeldExample, 'position'>, decision: number): void {
    const { version, rule, label, ids, values, timestamp } = example
    const { context, inFlight } = this
    this.error.add(version, decision, label, rule.lossOf(decision, label))
    this.learned.increment()
    const derivative = rule.derivative(decision, label, values)
    if (derivative === 0) {
      inFlight?.leave()
      return
    }
    const { partition, offset } = context.position()
    const rate = rule.rateOf(ids.length)
    const attemptTag = inFlight?.attemptTag ?? 0
    const delta = { attemptTag, version, partition, offset, derivative, rate, ids, values }
    context.output.collect(delta satisfies LinearDelta, timestamp)
  }
}

function ruleOf(
  settings: OnlineLinearSettings,
  loss: OnlineLinearOptions['loss'] = 'hinge',
): OnlineLinearRule {
  return new OnlineLinearRule({ ...settings, loss: settings.loss ?? loss })
}

/** Where the weights of a linear model are. */
interface StoredWeightsOptions {
  readonly context: Pick<OperatorContext, 'rowTables' | 'storedRows'>
  /** Uid of the operator that owns the weights, and the name of its vector state. */
  readonly uid: string
  readonly state: string
  /** Features of one block. */
  readonly range: number
}

const encoder = new TextEncoder()

/** Reads weights of a linear model in the memory of all slots, and asks the slots for blocks that are in their stores. */
class StoredWeights {
  private readonly options: StoredWeightsOptions
  private readonly reader: SlotRowReader

  constructor(options: StoredWeightsOptions) {
    const { context, uid, state } = options
    this.options = options
    this.reader = new SlotRowReader(context.rowTables, uid, state)
  }

  /**
   * Sum of weight x value of a version over features, whose ids rise; 0 if it is not finite. Only within
   * `OperatorContext.suspend`. Throws STORE_FAILED.
   */
  async product(version: number, ids: Uint32Array, values: Float32Array): Promise<number> {
    const blocks = blocksOf(ids, this.options.range)
    const rows = await Promise.all(blocks.map(({ key }) => this.block(version, key)))
    const { sum } = blockProducts({ ids, values }, blocks, (n) => rows[n])
    return Number.isFinite(sum) ? sum : 0
  }

  private async block(version: number, key: string): Promise<Float32Array | undefined> {
    const { context, uid, state, range } = this.options
    const bytes = encoder.encode(key)
    const weights = new Float32Array(range)
    const found = this.reader.read(version, bytes, 0, bytes.length, weights)
    if (found === 'found') return weights
    if (found === 'missing') return undefined
    const slot = this.reader.owner
    const [row] = await context.storedRows({
      ...{ slot, operatorUid: uid, state, version, dimension: range },
      keys: [bytes],
    })
    return row?.vector
  }
}
