import { type ByteSpan, emptySpan } from '../core/byte-span.ts'
import { isWeirError, WeirError } from '../core/errors.ts'
import { keyGroupOf } from '../core/key-group.ts'
import type { Counter } from '../core/metrics.ts'
import { NO_LANE } from '../models/delta-buffer.ts'
import type { ModelRow } from '../models/model-row.ts'
import { scoreOf } from '../models/online-rule.ts'
import type { OnlineRuleOptions } from '../models/online-rules.ts'
import type { PrequentialOptions } from '../models/prequential-error.ts'
import { clipRating } from '../models/rating.ts'
import { AbstractOperator } from '../operators/abstract-operator.ts'
import type { OperatorContext } from '../operators/operator.ts'
import type { KeyedStateBackend } from '../state/keyed-state-backend.ts'
import { itemRows, userRows } from './als-serving-function.ts'
import type { LearnerOrder, LearnerReport } from './online-coordinator.ts'
import { DeltaWindow, type DeltaWindowOptions } from './online-delta-window.ts'
import { LearningFlow } from './online-flow.ts'
import { LearnedRows } from './online-learned-rows.ts'
import { tableMoments } from './online-moments.ts'
import { RateLimit } from './online-rate-limit.ts'
import {
  type DeltaRecord,
  LEARNING_ERROR,
  type LearnerInput,
  type RatingRecord,
  REFUSED,
  type RefusalReason,
} from './online-records.ts'
import {
  decodeVersion,
  type EncodedMoments,
  encodeVersion,
  errorBytes,
  errorOf,
  LearnedVersion,
  type VersionFacts,
} from './online-version.ts'

/** What a learner does. */
export interface LearnerOptions {
  readonly dimension: number
  readonly rule: OnlineRuleOptions
  /** Average ratings that a row of the batch model counts as, for rules with Gram matrices. @default 20 */
  readonly evidence?: number
  readonly prequential?: PrequentialOptions
  /** Ratings of one user in one second of event time; more are refused. @default no limit */
  readonly ratingsPerSecond?: number
  /** Ratings outside the range that the version was trained on are refused. @default true */
  readonly refuseOutOfRange?: boolean
  /** Sums deltas before they are sent; the sink must then write transactions. @default none */
  readonly window?: DeltaWindowOptions
}

/** A delta on its way to the deltas topic. */
export interface OutgoingDelta {
  /** `<id>-I` */
  key: ByteSpan
  version: number
  /** Key group of the user, `NO_LANE` for sums. */
  lane: number
  /** Where the rating stood; of sums, the last one. */
  partition: number
  offset: number
  values: Float32Array
}

const VERSIONS = 'learned-versions'
const ERRORS = 'learning-errors'
const REPORT_MS = 1000
const encoder = new TextEncoder()

/**
 * Keeps the rows of an ALS model and learns them from ratings. A rating comes to the owner of its
 * user: it reads the item's row in place, in whichever slot that lies, does the rule's step on the
 * user's row and sends what the item is to become as a delta; the item's owner folds it. Nothing is
 * asked of another slot and no row has two writers.
 */
export class OnlineLearner extends AbstractOperator {
  private readonly options: LearnerOptions
  private state!: KeyedStateBackend
  private readonly versions = new Map<number, LearnedVersion>()
  private rows!: LearnedRows
  private current: LearnedVersion | undefined
  private readonly limit: RateLimit | undefined
  private readonly window: DeltaWindow | undefined
  private readonly outgoing: OutgoingDelta
  private readonly origin = { partition: -1, offset: 0, eventTime: -1 }
  private flow: LearningFlow | undefined
  private windowDueMs = Number.POSITIVE_INFINITY
  private reportedRatings = 0
  private restoredErrors: { readonly version: number; readonly numbers: Float64Array }[] = []
  private learned!: Counter
  private folded!: Counter
  private refused!: Counter
  private dropped!: Counter
  private outOfReach!: Counter

  constructor(options: LearnerOptions) {
    super()
    this.options = options
    const { ratingsPerSecond, window } = options
    this.limit = ratingsPerSecond === undefined ? undefined : new RateLimit(ratingsPerSecond)
    this.window = window === undefined ? undefined : new DeltaWindow(window)
    const none = { key: emptySpan(), version: 0, lane: 0, partition: 0, offset: 0 }
    this.outgoing = { ...none, values: new Float32Array(0) }
  }

  override open(context: OperatorContext): void {
    super.open(context)
    const { metrics } = context
    if (context.keyedState === undefined) {
      throw new WeirError('INVALID_GRAPH', 'the learner needs a keyed input')
    }
    this.state = context.keyedState
    this.learned = metrics.counter('ratingsLearned')
    this.folded = metrics.counter('deltasFolded')
    this.refused = metrics.counter('ratingsRefused')
    this.dropped = metrics.counter('numRecordsDropped')
    this.outOfReach = metrics.counter('itemRowsOutOfReach')
    this.gauges()
    const { dimension } = this.options
    this.rows = new LearnedRows({
      users: this.state.vector(userRows(dimension)),
      items: this.state.vector(itemRows(dimension)),
      directory: context.rowTables,
      uid: context.uid,
      evidence: this.options.evidence ?? 20,
    })
    for (const bytes of context.operatorState.restored(ERRORS))
      this.restoredErrors.push(errorOf(bytes))
    for (const bytes of context.operatorState.restored(VERSIONS)) {
      const { facts, moments } = decodeVersion(bytes)
      this.begin(facts, moments)
    }
    this.report({ kind: 'opened' })
    context.scheduleProcessingTime(context.clock.nowMs() + REPORT_MS)
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as LearnerInput
    const kind = 'kind' in record ? record.kind : 'row'
    if (kind === 'rating') this.learn(record as RatingRecord, timestamp)
    else if (kind === 'delta') this.fold(record as DeltaRecord, timestamp)
    else this.place(record as ModelRow, timestamp)
  }

  override handleEvent(event: unknown): void {
    const order = event as LearnerOrder
    switch (order.kind) {
      case 'prepare':
        this.prepare(order.facts)
        return
      case 'begin':
        this.flow = new LearningFlow(order.flow)
        this.begin(order.facts, order.moments)
        this.report({ kind: 'begun', version: order.facts.version })
        return
      default:
        this.sendWindow()
        this.current = this.versions.get(order.version)
    }
  }

  override onProcessingTime(timestampMs: number): void {
    if (timestampMs >= this.windowDueMs) this.sendWindow()
    else this.emitError()
  }

  override prepareSnapshot(): void {
    this.sendWindow()
    const { operatorState } = this.context
    const versions = [...this.versions.values()]
    const constants = versions.map(({ facts, moments }) => encodeVersion(facts, moments))
    operatorState.update(VERSIONS, 'broadcast', constants)
    const errors = versions.map(({ facts, error }) => errorBytes(facts.version, error.encode()))
    operatorState.update(ERRORS, 'split', errors)
  }

  // ---- Versions ----------------------------------------------------------------------------------

  private report(report: LearnerReport): void {
    this.context.sendEvent(report)
  }

  private prepare({ version }: VersionFacts): void {
    const known = this.versions.get(version)
    const moments = known?.moments ?? this.measure(version)
    this.report({ kind: 'moments', version, kept: known !== undefined, moments })
  }

  /** What this slot's rows of a version are like. */
  private measure(version: number): EncodedMoments {
    const { dimension, rule } = this.options
    const meanOnly = rule.rule === 'sgd'
    const { subtask } = this.context
    const [user, item] = (['user', 'item'] as const).map((side) =>
      tableMoments(this.rows.tableOf(side, version, subtask), dimension, meanOnly).encode(),
    )
    return { user: user!, item: item! }
  }

  private begin(facts: VersionFacts, moments: EncodedMoments): void {
    if (this.versions.has(facts.version)) return
    const { dimension, rule, prequential } = this.options
    const version = new LearnedVersion(facts, moments, dimension, rule, prequential ?? {})
    const restored = this.restoredErrors.filter((entry) => entry.version === facts.version)
    for (const { numbers } of restored) version.error.restore(numbers)
    this.versions.set(facts.version, version)
    this.rows.prepareFor(version, this.state)
    // A version that is neither learned on nor about to be gets no more deltas.
    for (const old of [...this.versions.keys()].sort((a, b) => a - b).slice(0, -3)) {
      this.versions.delete(old)
    }
  }

  // ---- Rows --------------------------------------------------------------------------------------

  private place(row: ModelRow, timestamp: number): void {
    const { partition, offset } = this.context.position()
    const key = this.state.currentKey()
    try {
      this.rows.place(row, key, this.from(partition, offset, timestamp))
    } catch (error) {
      // A row with NaN must neither be served nor stop the job for ever: it is counted.
      if (!isWeirError(error, 'NOT_FINITE')) throw error
      this.dropped.increment()
    }
  }

  private from(partition: number, offset: number, eventTime: number): typeof this.origin {
    const { origin } = this
    origin.partition = partition
    origin.offset = offset
    origin.eventTime = eventTime
    return origin
  }

  // ---- Learning ----------------------------------------------------------------------------------

  private learn(rating: RatingRecord, timestamp: number): void {
    const version = this.current
    if (version === undefined) {
      throw new WeirError('ILLEGAL_STATE', 'a rating came before any version was live')
    }
    const key = this.state.currentKey()
    const refusal = this.refusalOf(rating, version, key, timestamp)
    if (refusal !== undefined) {
      this.refuse(rating, key, refusal, timestamp)
      return
    }
    const { rows } = this
    const user = rows.user(version, key)
    const item = rows.item(version, rating.item)
    if (rows.itemOutOfReach) this.outOfReach.increment()
    const score = clipRating(scoreOf(user.row, item.row), version.range)
    const known = user.updates + user.evidence > 0 && item.updates + item.evidence > 0
    const delta = rows.delta(version)
    if (version.rule.learn(user, item, rating.rating, delta) === 'refused') {
      this.refuse(rating, key, 'not-finite', timestamp)
      return
    }
    version.error.add(rating.rating - score, known)
    const { partition, offset } = this.context.position()
    rows.storeUser(version, key, this.from(partition, offset, timestamp))
    this.learned.increment()
    this.send(version, rating.item, delta, key, timestamp)
  }

  private refusalOf(
    rating: RatingRecord,
    { range }: LearnedVersion,
    key: Uint8Array,
    timestamp: number,
  ): RefusalReason | undefined {
    const { refuseOutOfRange = true } = this.options
    const { rating: value } = rating
    if (refuseOutOfRange && (value < range.min || value > range.max)) return 'out-of-range'
    if (this.limit === undefined) return undefined
    const user = Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
    return this.limit.exceeds(user, timestamp) ? 'rate-limited' : undefined
  }

  private refuse(
    rating: RatingRecord,
    key: Uint8Array,
    reason: RefusalReason,
    timestamp: number,
  ): void {
    this.refused.increment()
    this.flow?.leave()
    const { partition, offset } = this.context.position()
    const { bytes, start, length } = rating.item
    const item = bytes.subarray(start, start + length)
    const ids = [key, item].map((id) => Buffer.from(id.subarray(0, -2)).toString())
    const value = encoder.encode(`${ids.join(',')},${rating.rating}`)
    this.context.output.collectSide(REFUSED.id, { value, reason, partition, offset }, timestamp)
  }

  // ---- Deltas ------------------------------------------------------------------------------------

  private send(
    version: LearnedVersion,
    item: ByteSpan,
    values: Float32Array,
    user: Uint8Array,
    timestamp: number,
  ): void {
    const { window, outgoing, context } = this
    if (window !== undefined) {
      if (window.waiting === 0) this.scheduleWindow()
      if (window.add(item, values)) this.sendWindow()
      return
    }
    const { partition, offset } = context.position()
    outgoing.key = item
    outgoing.version = version.facts.version
    outgoing.lane = keyGroupOf(user, context.maxParallelism)
    outgoing.partition = partition
    outgoing.offset = offset
    outgoing.values = values
    context.output.collect(outgoing, timestamp)
  }

  private scheduleWindow(): void {
    const { clock } = this.context
    this.windowDueMs = clock.nowMs() + this.options.window!.intervalMs
    this.context.scheduleProcessingTime(this.windowDueMs)
  }

  private sendWindow(): void {
    this.windowDueMs = Number.POSITIVE_INFINITY
    const { window, current, outgoing, context } = this
    if (window === undefined || current === undefined || window.waiting === 0) return
    const { partition, offset } = context.position()
    window.drain(({ key, values }) => {
      outgoing.key = key
      outgoing.version = current.facts.version
      outgoing.lane = NO_LANE
      outgoing.partition = Math.max(0, partition)
      outgoing.offset = offset
      outgoing.values = values
      context.output.collect(outgoing, context.clock.nowMs())
    })
  }

  private fold(delta: DeltaRecord, timestamp: number): void {
    this.flow?.leave()
    const version = this.versions.get(delta.version)
    if (version === undefined) {
      this.dropped.increment()
      return
    }
    const key = this.state.currentKey()
    const item = this.rows.ownItem(version, key)
    if (version.rule.fold(item, delta.values) === 'refused') {
      this.dropped.increment()
      return
    }
    this.rows.storeItem(version, key, this.from(delta.partition, delta.offset, timestamp))
    this.folded.increment()
  }

  // ---- Error -------------------------------------------------------------------------------------

  private gauges(): void {
    const { metrics } = this.context
    const error = (): LearnedVersion['error'] | undefined => this.current?.error
    metrics.gauge('learningVersion', () => this.current?.facts.version ?? 0)
    metrics.gauge('prequentialMse', () => error()?.mse ?? Number.NaN)
    metrics.gauge('prequentialWindowMse', () => error()?.windowMse ?? Number.NaN)
    metrics.gauge('prequentialFadedMse', () => error()?.fadedMse ?? Number.NaN)
    metrics.gauge('prequentialCoverage', () => error()?.coverage ?? Number.NaN)
  }

  /** Tells once in a while how far off predictions are. */
  private emitError(): void {
    const { context, current } = this
    context.scheduleProcessingTime(context.clock.nowMs() + REPORT_MS)
    if (current === undefined || current.error.count === this.reportedRatings) return
    const { error, facts } = current
    this.reportedRatings = error.count
    const part = {
      version: facts.version,
      slot: context.subtask,
      ratings: error.count,
      mse: error.mse,
      windowMse: error.windowMse,
      fadedMse: error.fadedMse,
      coverage: error.coverage,
    }
    context.output.collectSide(LEARNING_ERROR.id, part, -1)
  }
}
