import { isWeirError, WeirError } from '../../../core/errors.ts'
import type { Counter } from '../../../core/metrics.ts'
import { modelVersion } from '../../../core/model-version.ts'
import type { PublishedRow, PublishedVariance, RemovedRow } from '../../../models/als/row-update.ts'
import { itemRows, userRows } from '../../../models/topic/als-serving-function.ts'
import { VarianceRows } from '../../../models/topic/variance-rows.ts'
import { AbstractOperator } from '../../../operators/port/abstract-operator.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../../state/port/key-length.ts'
import type { KeyedState } from '../../../state/port/keyed-state.ts'
import type { RatingErrorPart } from '../error/rating-error.ts'
import { REPORT_MS, SlotReports } from '../error/slot-reports.ts'
import { InFlightLimit } from '../in-flight-limit.ts'
import type { LearnerOrder, LearnerReport } from '../messages.ts'
import { Forgetting } from '../stops/forgetting.ts'
import { RowEvidence } from './evidence.ts'
import { LearnedRows } from './learned-rows.ts'
import { LearningSteps, type LearningStepsOptions } from './learning-steps.ts'
import { LEARNING_ERROR, type LearnerInput } from './records.ts'
import type {
  AlsVersionMetadata,
  EncodedMoments,
  LearnedVersion,
  LearnedVersionOptions,
} from './version.ts'
import { LearnedVersions } from './versions.ts'

/** The order to begin a version. */
type BeginOrder = Extract<
  LearnerOrder<AlsVersionMetadata, EncodedMoments>,
  { readonly kind: 'begin' }
>

/** Options of the learner. */
export interface LearnerOptions extends LearnedVersionOptions, LearningStepsOptions {
  /**
   * Average ratings that a row of the batch model counts as. @default as many as it was trained on, 20 where that was
   * not published
   */
  readonly evidence?: number
  /** Longest row key in bytes. @default 64 */
  readonly maxKeyBytes?: number
}

/**
 * Keeps the rows of an ALS model and learns them from ratings (`LearningSteps`). It takes part in the
 * version hand-shake (`handshake.ts`): it measures its rows of a version and begins with the constants
 * of all slots.
 */
export class OnlineLearner extends AbstractOperator {
  private readonly options: LearnerOptions
  private state!: KeyedState
  private versions!: LearnedVersions
  private rows!: LearnedRows
  /** Learning leaves them as they were trained. */
  private variances!: VarianceRows
  private steps!: LearningSteps
  private error!: LiveError
  private readonly origin = { source: 0, partition: -1, offset: 0, eventTime: -1 }
  private reportDueMs = 0
  private dropped!: Counter
  private forgetting!: Forgetting

  constructor(options: LearnerOptions) {
    super()
    this.options = options
  }

  override open(context: OperatorContext): void {
    super.open(context)
    if (context.keyedState === undefined) {
      throw new WeirError('INVALID_GRAPH', 'the learner needs a keyed input')
    }
    this.state = context.keyedState
    this.forgetting = new Forgetting(context)
    this.dropped = context.metrics.counter('numRecordsDropped')
    this.versions = new LearnedVersions(this.options, context)
    this.rows = this.openRows(context)
    this.variances = new VarianceRows(
      (descriptor) => this.state.vector(descriptor),
      this.options.maxKeyBytes,
    )
    const { versions, rows, state } = this
    this.steps = new LearningSteps({
      ...{ versions, rows, state, context, options: this.options },
      onWorse: (version) => this.reportWorse(version),
    })
    this.error = new LiveError(context, () => {
      const { all } = versions
      return { all, current: this.steps.current ?? all.at(-1) }
    })
    const dropped = versions.restoredRule
    let isDropped = dropped !== undefined && dropped !== this.options.rule.rule
    if (isDropped) rows.dropMemories()
    for (const version of versions.restored()) isDropped = rows.prepareFor(version) || isDropped
    this.report({
      kind: 'opened',
      known: versions.known,
      phases: versions.phases,
      ...(isDropped ? { droppedMemoryOf: dropped ?? 'another rule' } : {}),
    })
    this.scheduleReport()
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as LearnerInput
    switch (record.kind) {
      case 'rating':
        this.steps.learn(record, timestamp)
        return
      case 'delta':
        this.steps.fold(record, timestamp)
        return
      case 'switch':
        this.steps.switchTo(record)
        return
      case 'open':
        this.rows.open(record.version, record.dimension)
        return
      case 'retire':
        this.retire(record.version)
        return
      default:
        this.place(record, timestamp)
    }
  }

  override handleEvent(event: unknown): void {
    const order = event as LearnerOrder<AlsVersionMetadata, EncodedMoments>
    if (order.kind === 'measure') this.measure(order.metadata)
    else {
      this.steps.inFlight = new InFlightLimit(order.inFlight)
      this.begin(order)
    }
  }

  override onProcessingTime(timestampMs: number): void {
    this.forgetting.due()
    if (this.steps.flushDue(timestampMs)) return
    // A time that was scheduled for a window comes here, too, where the window was full before.
    if (timestampMs < this.reportDueMs) return
    this.scheduleReport()
    this.error.emit()
  }

  override prepareSnapshot(): void {
    this.forgetting.beforeSnapshot()
    this.steps.flush()
    this.versions.snapshot()
  }

  override close(): void {
    this.forgetting.close()
  }

  private openRows({ rowTables, uid, subtask }: OperatorContext): LearnedRows {
    const { dimension, maxKeyBytes = DEFAULT_MAX_KEY_BYTES, evidence, rule } = this.options
    return new LearnedRows({
      users: this.state.vector(userRows(dimension, maxKeyBytes)),
      items: this.state.vector(itemRows(dimension, maxKeyBytes)),
      state: this.state,
      catalog: rowTables,
      uid,
      evidence: evidence ?? new RowEvidence(this.state, maxKeyBytes, rule.rule),
      maxKeyBytes,
      slot: subtask,
    })
  }

  private scheduleReport(): void {
    const { context } = this
    this.reportDueMs = context.clock.nowMs() + REPORT_MS
    context.scheduleProcessingTime(this.reportDueMs)
  }

  private report(report: LearnerReport<EncodedMoments>): void {
    this.context.sendEvent(report)
  }

  private measure(metadata: AlsVersionMetadata): void {
    const { version } = metadata
    const kept = this.versions.constantsOf(metadata)
    const { subtask } = this.context
    const constants =
      kept ?? this.versions.measure(metadata, (side) => this.rows.tableOf(side, version, subtask))
    this.report({ kind: 'measured', version, kept: kept !== undefined, constants })
  }

  private begin({ metadata, constants, phase = 0 }: BeginOrder): void {
    const begun = this.versions.begin(metadata, constants)
    if (begun !== undefined) this.rows.prepareFor(begun)
    const done = (): void => this.report({ kind: 'begun', version: metadata.version })
    const version = this.versions.get(metadata.version)
    if (version?.advanceTo(phase) !== true) done()
    else this.forgetting.add({ beginAgain: () => this.steps.beginAgain(version), done })
  }

  private reportWorse({ metadata, phase, measures }: LearnedVersion): void {
    const { version } = metadata
    const [loss, frozenLoss] = [measures.error.fadedMse, measures.frozenError.fadedMse]
    this.report({ kind: 'worse', version, phase, loss, frozenLoss })
  }

  private retire(version: number): void {
    // It is learned on until the switch to another version has reached this slot.
    if (this.steps.current?.metadata.version === version) return
    this.versions.drop(version)
    this.rows.drop(version)
    this.variances.drop(modelVersion(version))
  }

  private place(row: PublishedRow | PublishedVariance | RemovedRow, timestamp: number): void {
    const { source = 0, partition, offset } = this.context.position()
    const { origin } = this
    origin.source = source
    origin.partition = partition
    origin.offset = offset
    origin.eventTime = timestamp
    const key = this.state.currentKey()
    const version = modelVersion(row.version)
    if (row.kind === 'variance') {
      this.variances.put(version, key, row.floats, origin)
      return
    }
    if (row.kind === 'remove') this.variances.remove(version, key)
    try {
      this.rows.place(row, key, origin)
    } catch (error) {
      // A row with NaN, or of another length than those of its version, must neither be served nor stop the job forever.
      const isBad = isWeirError(error, 'NOT_FINITE') || isWeirError(error, 'DIMENSION_MISMATCH')
      if (!isBad) throw error
      this.dropped.increment()
    }
  }
}

/** The versions of a slot, for its reports. */
interface ReportedVersions {
  /** The version that is learned on, or was last; undefined before the first. */
  readonly current: LearnedVersion | undefined
  /** All versions that the slot knows. */
  readonly all: Iterable<LearnedVersion>
}

/** Reports the error of predictions of the version that is learned on, as metrics and as records. */
class LiveError {
  private readonly versions: () => ReportedVersions
  private readonly reports: SlotReports<RatingErrorPart>

  constructor(context: OperatorContext, versions: () => ReportedVersions) {
    this.versions = versions
    this.reports = new SlotReports(context, LEARNING_ERROR)
    const { metrics } = context
    const current = (): LearnedVersion | undefined => versions().current
    const error = () => current()?.measures.error
    const frozen = () => current()?.measures.frozenError
    metrics.gauge('learningVersion', () => current()?.metadata.version ?? 0)
    metrics.gauge('prequentialMse', () => error()?.mse ?? Number.NaN)
    metrics.gauge('prequentialWindowMse', () => error()?.windowMse ?? Number.NaN)
    metrics.gauge('prequentialFadedMse', () => error()?.fadedMse ?? Number.NaN)
    metrics.gauge('prequentialFrozenMse', () => frozen()?.fadedMse ?? Number.NaN)
    metrics.gauge('learningStopped', () => (current()?.isStopped === true ? 1 : 0))
    metrics.gauge('driftAlarms', () => current()?.measures.drift.alarmCount ?? 0)
    metrics.gauge('betterAlarms', () => current()?.measures.drift.alarms.better.count ?? 0)
    metrics.gauge('prequentialCoverage', () => error()?.coverage ?? Number.NaN)
  }

  /** Sends the error of each version that has changed. */
  emit(): void {
    for (const { metadata, measures, phase, isStopped } of this.versions().all) {
      const { error, frozenError, drift } = measures
      this.reports.send(metadata.version, error.count + phase, () => ({
        ratings: error.count,
        mse: error.mse,
        windowMse: error.windowMse,
        fadedMse: error.fadedMse,
        coverage: error.coverage,
        startMse: error.startMse,
        startRatings: error.startCount,
        frozenMse: frozenError.fadedMse,
        frozenRatings: frozenError.count,
        alarms: drift.alarms,
        isStopped,
      }))
    }
  }
}
