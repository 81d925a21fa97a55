import type { OperatorContext } from '../../../operators/port/operator.ts'
import type { RatingErrorPart } from '../error/rating-error.ts'
import { SlotReports } from '../error/slot-reports.ts'
import { LEARNING_ERROR } from './records.ts'
import type { LearnedVersion } from './version.ts'

/** The versions of a slot, for its reports. */
export interface ReportedVersions {
  /** The version that is learned on, or was last; undefined before the first. */
  readonly current: LearnedVersion | undefined
  /** All versions that the slot knows. */
  readonly all: Iterable<LearnedVersion>
}

/** Reports the error of predictions of the version that is learned on, as metrics and as records. */
export class LiveError {
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
    metrics.gauge('driftAlarms', () => current()?.measures.drift.alarmCount ?? 0)
    metrics.gauge('prequentialCoverage', () => error()?.coverage ?? Number.NaN)
  }

  /** Sends the error of each version that has changed. */
  emit(): void {
    for (const { metadata, measures } of this.versions().all) {
      const { error, frozenError, drift } = measures
      this.reports.send(metadata.version, error.count, () => ({
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
      }))
    }
  }
}
