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
import { isLearningStopped } from '../../../models/registry/learning-phase.ts'
import { WEIGHTS_STATE } from '../../../models/topic/linear-serving-function.ts'
import { type ModelTopicRecord, valueBytesOf } from '../../../models/topic/record.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { SlotWeights } from '../../../serving/sparse/slot-weights.ts'
import { type GateOrder, phaseIn, type WorseReport } from '../messages.ts'
import { ObservationsGate } from '../observations-gate.ts'
import { Refusals } from '../refused.ts'
import type { SameEventOptions } from '../seen-events.ts'
import { LinearLiveError } from './live-error.ts'
import { WeightProducts } from './weight-products.ts'

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
  /** Learning goes on also where it has certainly made the predictions worse. @default false */
  readonly neverStop?: boolean | undefined
}

/** An example that waits for others to be folded, or for blocks of weights that are in a store. */
interface HeldExample {
  readonly version: number
  /** The phase of learning that it came in. */
  readonly phase: number
  readonly rule: OnlineLinearRule
  /** 1 or -1. */
  readonly label: number
  /** How many examples it counts for. */
  readonly importance: number
  readonly ids: Uint32Array
  readonly values: Float32Array
  readonly timestamp: number
  readonly position: SourcePosition
}

/** What is predicted of an example. */
interface Predicted {
  readonly decision: number
  /** The decision of the version as it was published; undefined outside the sample. */
  readonly frozen: number | undefined
}

/** One example of this number, a power of two, is also predicted without learning. */
const SAMPLED = 4

/**
 * Reads labelled observations in LIBSVM's format, one a record, predicts each from the weights in the
 * memory of all slots, and sends one delta for each. While too many examples are in flight, the next one waits; so it
 * does for blocks that are in the stores of slots, which it asks for. The examples after it keep their place. A record that is no example is refused. After a failure it reads
 * observations again; the readers of the deltas topic drop the deltas that come twice. While learning is stopped, examples are
 * predicted, and not learned.
 */
export class LinearObservationsOperator extends ObservationsGate {
  private readonly settings: OnlineLinearSettings
  /** Of the version that is learned on. */
  private rule: OnlineLinearRule
  private labels: TrainedWith['labels']
  private readonly range: number
  private readonly modelUid: string
  private readonly maxFeatures: number
  /** Of the version that is learned on: it says how names of features are hashed. */
  private examples = new ExampleRecordReader()
  private readonly positiveLabel: number | undefined
  private readonly neverStop: boolean
  /** Phase of learning on the version. */
  private phase = 0
  /** By partition, the version that it was learned on last in this attempt. */
  private readonly learnedOn: number[] = []
  private weights!: SlotWeights
  private timestamp = -1
  private readonly prequential: PrequentialOptions
  private error!: LinearLiveError
  private read!: Counter
  private learned!: Counter
  private left!: Counter
  private refusals!: Refusals
  private products!: WeightProducts
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
    this.neverStop = options.neverStop === true
  }

  override open(context: OperatorContext): void {
    super.open(context)
    const { metrics, rowTables } = context
    const { modelUid: uid, range } = this
    this.weights = new SlotWeights({ rowTables, uid, state: WEIGHTS_STATE, range })
    this.learned = metrics.counter('observationsLearned')
    this.left = metrics.counter('observationsLeftOut')
    this.refusals = new Refusals(context, 'observationsRefused')
    this.read = metrics.counter('observationsRead')
    this.products = new WeightProducts({ context, uid, range })
    this.asked = metrics.counter('examplesAsked')
    this.error = new LinearLiveError(context, {
      prequential: this.prequential,
      neverStop: this.neverStop,
    })
  }

  protected override letThrough(order: GateOrder): void {
    super.letThrough(order)
    const { loss, labels, hashing } = order.trainedWith ?? {}
    this.examples = new ExampleRecordReader(hashing)
    this.rule = ruleOf(this.settings, loss)
    this.labels = labels
    this.phase = phaseIn(order, order.version)
    this.error.of(order.version).advanceTo(this.phase)
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
    const { label, ids, count } = example
    const side = this.sideOf(label)
    // A feature makes a block of weights: without a limit a stranger fills the disk with ids.
    const isTooWide = count > 0 && ids[count - 1]! >= this.maxFeatures
    if (side === 0) this.refusals.refuseRecord(record, 'unknown-label', timestamp)
    else if (isTooWide) this.refusals.refuseRecord(record, 'too-many-features', timestamp)
    else if (!this.isRepeated(record)) this.learn(side, example)
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

  /** Learns an example of a side, 1 or -1. */
  private learn(
    label: number,
    { ids: indexes, values: given, count, importance }: ExampleView,
  ): void {
    const ids = new Uint32Array(count + 1)
    const values = new Float32Array(count + 1)
    ids.set(indexes.subarray(0, count))
    values.set(given.subarray(0, count))
    ids[count] = BIAS_FEATURE
    values[count] = 1
    const { version, phase, rule, timestamp } = this
    const example = { version, phase, rule, label, importance, ids, values, timestamp }
    // What the source has read behind an example that waits keeps its place.
    if (this.held.length === 0 && this.inFlight?.tryEnter() !== false) {
      const predicted = this.predict(example, this.context.position())
      if (predicted !== undefined) {
        this.step(example, predicted)
        return
      }
      this.inFlight?.leave()
    }
    this.hold({ ...example, position: { ...this.context.position() } })
  }

  /** Predicts an example from the memory of all slots; undefined where one has a block in its store. */
  private predict(
    { version, ids, values }: Omit<HeldExample, 'position'>,
    position: SourcePosition,
  ): Predicted | undefined {
    const decision = this.weights.product(version, ids, values)
    if (this.weights.isOutOfReach) return undefined
    if (!this.isSampled(version, position)) return { decision, frozen: undefined }
    const frozen = this.products.published(version, ids, values)
    return frozen === undefined ? undefined : { decision, frozen }
  }

  /** As `predict`, and asks slots for what they have in their stores. */
  private async ask({ version, ids, values, position }: HeldExample): Promise<Predicted> {
    this.asked.increment()
    const decision = await this.products.asked(version, ids, values)
    if (!this.isSampled(version, position)) return { decision, frozen: undefined }
    return { decision, frozen: await this.products.publishedAsked(version, ids, values) }
  }

  /** Whether the example at a position is also predicted without learning. */
  private isSampled(version: number, position: SourcePosition): boolean {
    return this.error.of(version).isGuarded && isInSample(position)
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
      const predicted = this.predict(next, next.position) ?? (await this.ask(next))
      this.context.resumeAt(next.position)
      this.step(next, predicted)
      this.held.shift()
    }
  }

  /** Learns an example that is in flight. */
  private step(example: Omit<HeldExample, 'position'>, predicted: Predicted): void {
    const { version, phase, rule, label, importance, ids, values, timestamp } = example
    const { context, inFlight } = this
    const { decision } = predicted
    this.measure(example, predicted)
    if (!this.isLearnedIn(version, phase)) {
      this.left.increment()
      inFlight?.leave()
      return
    }
    this.learned.increment()
    const derivative = rule.derivative(decision, label, values, importance)
    if (derivative === 0) {
      inFlight?.leave()
      return
    }
    const { partition, offset } = context.position()
    const rate = rule.rateOf(ids.length)
    const attemptTag = inFlight?.attemptTag ?? 0
    const delta = { attemptTag, phase, version, partition, offset, derivative, rate, ids, values }
    context.output.collect(delta satisfies LinearDelta, timestamp)
  }

  /** Whether an example of a phase is learned: not while learning is stopped, nor when it came before a stop. */
  private isLearnedIn(version: number, phase: number): boolean {
    if (isLearningStopped(phase)) return false
    return version !== this.version || phase === this.phase
  }

  private measure(
    { version: number, phase, rule, label, timestamp }: Omit<HeldExample, 'position'>,
    { decision, frozen }: Predicted,
  ): void {
    const version = this.error.of(number)
    const { measures } = version
    const loss = rule.lossOf(decision, label)
    const { clock } = this.context
    const of = { isPositive: label > 0, timeMs: timestamp }
    measures.add({ ...of, decision, loss }, clock)
    if (frozen === undefined) return
    const frozenLoss = rule.lossOf(frozen, label)
    measures.addFrozen({ ...of, decision: frozen, loss: frozenLoss }, clock)
    if (!version.isWorse(loss, frozenLoss)) return
    const losses = { loss: measures.fadedLoss, frozenLoss: measures.fadedFrozenLoss }
    this.context.sendEvent({
      kind: 'worse',
      version: number,
      phase,
      ...losses,
    } satisfies WorseReport)
  }
}

/** Whether the example at a position is in the sample. Neighbours are not all in it or out of it: labels may alternate. */
function isInSample({ partition, offset }: SourcePosition): boolean {
  const mixed = Math.imul((offset ^ Math.imul(partition + 1, 0x9e3779b1)) | 0, 0x85ebca6b)
  return (((mixed ^ (mixed >>> 15)) >>> 7) & (SAMPLED - 1)) === 0
}

function ruleOf(
  settings: OnlineLinearSettings,
  loss: OnlineLinearOptions['loss'] = 'hinge',
): OnlineLinearRule {
  return new OnlineLinearRule({ ...settings, loss: settings.loss ?? loss })
}
