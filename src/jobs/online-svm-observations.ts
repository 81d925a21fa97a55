import { sleep } from '../core/clock.ts'
import { isWeirError } from '../core/errors.ts'
import { BIAS_FEATURE } from '../core/feature.ts'
import type { Counter } from '../core/metrics.ts'
import { LibsvmParser } from '../models/libsvm-format.ts'
import type { LinearDelta } from '../models/linear-delta.ts'
import { type OnlineLinearOptions, OnlineLinearRule } from '../models/online-linear.ts'
import type { OperatorContext } from '../operators/operator.ts'
import { LocalSparseDot } from '../serving/local-sparse-dot.ts'
import { SparseOutcome } from '../serving/query-backend.ts'
import type { WeightTables } from '../serving/weight-blocks.ts'
import type { RowTableReader } from '../state/row-table-reader.ts'
import { OK, statusOf } from '../wire/status.ts'
import { type ModelTopicRecord, valueBytesOf } from './model-topic-record.ts'
import { GatedBySvm } from './online-svm-gate.ts'

const ALL_MISSING = { statusOfMissing: () => statusOf('UNKNOWN_KEY'), ageOf: () => 0 }

/** The tables of one version's weights in all slots, as of when they were asked for. */
class SlotTables implements WeightTables {
  readonly readers: readonly RowTableReader[]
  readonly readerOf: (hash: number) => RowTableReader | undefined

  constructor(
    readers: readonly RowTableReader[],
    readerOf: (hash: number) => RowTableReader | undefined,
  ) {
    this.readers = readers
    this.readerOf = readerOf
  }
}

/**
 * Reads labelled observations in LIBSVM's format, one a record, predicts each by the weights where
 * they lie, in whichever slot, and sends what is to be learned of it as one delta. It takes nothing
 * before a version is live; after a failure it reads observations again, whose deltas the readers of
 * the deltas topic know.
 */
export class SvmObservationsOperator extends GatedBySvm {
  private readonly rule: OnlineLinearRule
  private readonly range: number
  private readonly uid: string
  private readonly mostUnderWay: number
  private readonly sparse = new LocalSparseDot()
  private readonly outcome = new SparseOutcome()
  private readonly parser: LibsvmParser
  private tables: SlotTables | undefined
  private tablesOf = -1
  private changes = -1
  private timestamp = -1
  private lossSum = 0
  private right = 0
  private count = 0
  private learned!: Counter
  private dropped!: Counter

  /**
   * `uid`: of the operator that owns the weights. Observations wait while `mostUnderWay` deltas have
   * not come back: steps on weights of long ago overshoot when many of them are folded at once.
   */
  constructor(range: number, rule: OnlineLinearOptions, uid: string, mostUnderWay: number) {
    super()
    this.mostUnderWay = mostUnderWay
    this.range = range
    this.rule = new OnlineLinearRule(rule)
    this.uid = uid
    this.parser = new LibsvmParser((label, ids, values, count) =>
      this.learn(label > 0 ? 1 : -1, ids, values, count),
    )
  }

  override open(context: OperatorContext): void {
    super.open(context)
    const { metrics } = context
    this.learned = metrics.counter('observationsLearned')
    this.dropped = metrics.counter('numRecordsDropped')
    metrics.gauge('prequentialLoss', () => this.lossSum / this.count)
    metrics.gauge('prequentialAccuracy', () => this.right / this.count)
  }

  override ready(): boolean {
    return this.flow?.admits(this.mostUnderWay) === true
  }

  override async whenReady(): Promise<void> {
    await super.whenReady()
    while (!this.ready()) await sleep(this.context.clock, 1)
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const bytes = valueBytesOf(value as ModelTopicRecord)
    if (bytes === null) return
    this.timestamp = timestamp
    try {
      this.parser.push(bytes)
      this.parser.end()
    } catch (error) {
      if (!isWeirError(error, 'UNPARSABLE_RECORD')) throw error
      this.dropped.increment()
    }
  }

  private learn(label: number, indexes: Uint32Array, given: Float32Array, count: number): void {
    const ids = new Uint32Array(count + 1)
    const values = new Float32Array(count + 1)
    ids.set(indexes.subarray(0, count))
    values.set(given.subarray(0, count))
    ids[count] = BIAS_FEATURE
    values[count] = 1
    const { outcome, rule, context } = this
    const features = { ids, values, count: count + 1 }
    const status = this.sparse.run(this.tablesNow(), this.range, features, ALL_MISSING, outcome)
    // A block that left memory counts as zeros: the step is a little off, and nothing waits.
    const decision = status === OK && Number.isFinite(outcome.sum) ? outcome.sum : 0
    this.note(decision, label)
    const derivative = rule.derivative(decision, label, values)
    if (derivative === 0) return
    const { partition, offset } = context.position()
    const rate = rule.rateOf(count + 1)
    const delta: LinearDelta = {
      version: this.version,
      partition,
      offset,
      derivative,
      rate,
      ids,
      values,
    }
    this.flow?.enter()
    context.output.collect(delta, this.timestamp)
    this.learned.increment()
  }

  private note(decision: number, label: number): void {
    this.count++
    this.lossSum += this.rule.lossOf(decision, label)
    if (decision > 0 === label > 0) this.right++
  }

  private tablesNow(): SlotTables {
    const { rowTables } = this.context
    if (
      this.tables === undefined ||
      this.tablesOf !== this.version ||
      this.changes !== rowTables.changes
    ) {
      const found = rowTables.readers(this.uid, 'weights', this.version)
      this.tables = new SlotTables(found.all, (hash) => found.of(hash))
      this.tablesOf = this.version
      this.changes = rowTables.changes
    }
    return this.tables
  }
}
