import { isWeirError, WeirError } from '../core/errors.ts'
import type { Counter } from '../core/metrics.ts'
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
import { DeltaSender } from './online-delta-sender.ts'
import type { DeltaWindowOptions } from './online-delta-window.ts'
import { RowEvidence, UNCOUNTED_EVIDENCE } from './online-evidence.ts'
import { LearningFlow } from './online-flow.ts'
import { LearnedRows } from './online-learned-rows.ts'
import { LiveError } from './online-live-error.ts'
import { RateLimit } from './online-rate-limit.ts'
import {
  type DeltaRecord,
  type LearnerInput,
  type RatingRecord,
  REFUSED,
  type RefusalReason,
  type SwitchRecord,
} from './online-records.ts'
import type { EncodedMoments, LearnedVersion, VersionFacts } from './online-version.ts'
import { LearnedVersions } from './online-versions.ts'

/** What a learner does. */
export interface LearnerOptions {
  readonly dimension: number
  readonly rule: OnlineRuleOptions
  /** Average ratings that a row of the batch model counts as, for rules with Gram matrices. @default as many as it was trained on, 20 where that was not published */
  readonly evidence?: number
  readonly prequential?: PrequentialOptions
  /** Ratings of one user in one second of event time; more are refused. @default no limit */
  readonly ratingsPerSecond?: number
  /** Ratings outside the range that the version was trained on are refused. @default true */
  readonly refuseOutOfRange?: boolean
  /** Sums deltas before they are sent; the sink must then write transactions. @default none */
  readonly window?: DeltaWindowOptions
}

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
  private versions!: LearnedVersions
  private rows!: LearnedRows
  /** The version that a rating was last learned on. */
  private current: LearnedVersion | undefined
  /** By partition of the observations, the version that its ratings are learned on. */
  private readonly versionOf: (LearnedVersion | undefined)[] = []
  private readonly limit: RateLimit | undefined
  private deltas!: DeltaSender
  private error!: LiveError
  private readonly origin = { partition: -1, offset: 0, eventTime: -1 }
  private flow: LearningFlow | undefined
  private reportDueMs = 0
  /** Event time of the newest rating learned, ms. */
  private newestEventMs = Number.NaN
  private learned!: Counter
  private folded!: Counter
  private refused!: Counter
  private dropped!: Counter
  private outOfReach!: Counter

  constructor(options: LearnerOptions) {
    super()
    this.options = options
    const { ratingsPerSecond } = options
    this.limit = ratingsPerSecond === undefined ? undefined : new RateLimit(ratingsPerSecond)
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
    metrics.gauge('freshnessMs', () => context.clock.nowMs() - this.newestEventMs)
    this.error = new LiveError(context, () => this.current)
    this.deltas = new DeltaSender(context, this.options.window)
    this.versions = new LearnedVersions(this.options, context)
    const { dimension } = this.options
    this.rows = new LearnedRows({
      users: this.state.vector(userRows(dimension)),
      items: this.state.vector(itemRows(dimension)),
      directory: context.rowTables,
      uid: context.uid,
      evidence:
        this.options.evidence ??
        (this.options.rule.rule === 'gram' ? new RowEvidence(this.state) : UNCOUNTED_EVIDENCE),
    })
    for (const version of this.versions.restored()) this.rows.prepareFor(version, this.state)
    this.report({ kind: 'opened', known: this.versions.known })
    this.scheduleReport()
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as LearnerInput
    const kind = 'kind' in record ? record.kind : 'row'
    if (kind === 'rating') this.learn(record as RatingRecord, timestamp)
    else if (kind === 'switch') this.switchTo(record as SwitchRecord)
    else if (kind === 'delta') this.fold(record as DeltaRecord, timestamp)
    else if ((record as ModelRow).retires === true) this.retire((record as ModelRow).version)
    else this.place(record as ModelRow, timestamp)
  }

  override handleEvent(event: unknown): void {
    const order = event as LearnerOrder
    if (order.kind === 'prepare') {
      this.prepare(order.facts)
      return
    }
    this.flow = new LearningFlow(order.flow)
    this.begin(order.facts, order.moments)
    this.report({ kind: 'begun', version: order.facts.version })
  }

  override onProcessingTime(timestampMs: number): void {
    if (this.deltas.isDue(timestampMs)) {
      this.deltas.flush()
      return
    }
    // The time of a window that was full before comes here, too.
    if (timestampMs < this.reportDueMs) return
    this.scheduleReport()
    this.error.emit()
  }

  override prepareSnapshot(): void {
    this.deltas.flush()
    this.versions.snapshot()
  }

  private scheduleReport(): void {
    const { context } = this
    this.reportDueMs = context.clock.nowMs() + REPORT_MS
    context.scheduleProcessingTime(this.reportDueMs)
  }

  // ---- Versions ----------------------------------------------------------------------------------

  private report(report: LearnerReport): void {
    this.context.sendEvent(report)
  }

  private prepare(facts: VersionFacts): void {
    const { version } = facts
    const constants = this.versions.constantsOf(facts)
    const { subtask } = this.context
    const moments =
      constants ?? this.versions.measure((side) => this.rows.tableOf(side, version, subtask))
    this.report({ kind: 'moments', version, kept: constants !== undefined, moments })
  }

  private begin(facts: VersionFacts, moments: EncodedMoments): void {
    const version = this.versions.begin(facts, moments)
    if (version !== undefined) this.rows.prepareFor(version, this.state)
  }

  private switchTo({ version, partition }: SwitchRecord): void {
    this.deltas.flush()
    this.current = this.versions.get(version)
    this.versionOf[partition] = this.current
  }

  private retire(version: number): void {
    // Until the job has heard of the switch that made it superfluous.
    if (this.current?.facts.version === version) return
    this.versions.drop(version)
    this.rows.drop(version)
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
    const version = this.versionOf[this.context.position().partition]
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
    if (!(timestamp <= this.newestEventMs)) this.newestEventMs = timestamp
    this.deltas.send(version.facts.version, rating.item, delta, key, timestamp)
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
}
