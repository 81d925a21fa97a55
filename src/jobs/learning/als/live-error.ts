import type { OperatorContext } from '../../../operators/port/operator.ts'
import type { RatingErrorPart } from '../error/rating-error.ts'
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
  private readonly context: OperatorContext
  private readonly versions: () => ReportedVersions
  /** Ratings of the last report of this attempt, by version. */
  private readonly reported = new Map<number, number>()

  constructor(context: OperatorContext, versions: () => ReportedVersions) {
    this.context = context
    this.versions = versions
    const { metrics } = context
    const current = (): LearnedVersion | undefined => versions().current
    const error = () => current()?.measures.error
    metrics.gauge('learningVersion', () => current()?.metadata.version ?? 0)
    metrics.gauge('prequentialMse', () => error()?.mse ?? Number.NaN)
    metrics.gauge('prequentialWindowMse', () => error()?.windowMse ?? Number.NaN)
    metrics.gauge('prequentialFadedMse', () => error()?.fadedMse ?? Number.NaN)
    metrics.gauge(
      'prequentialFrozenMse',
      () => current()?.measures.frozenError.fadedMse ?? Number.NaN,
    )
    metrics.gauge('driftAlarms', () => alarmCount(current()))
    metrics.gauge('prequentialCoverage', () => error()?.coverage ?? Number.NaN)
  }

  /**
   * Sends the error of each version where it has changed, and once in each attempt: it replaces that of the slots before, also
   * where no rating comes.
   */
  emit(): void {
    for (const version of this.versions().all) {
      const { count } = version.measures.error
      const number = version.metadata.version
      if (count === (this.reported.get(number) ?? 0)) continue
      this.reported.set(number, count)
      this.send(version)
    }
  }

  private send({ measures, metadata }: LearnedVersion): void {
    const { error, frozenError, drift } = measures
    const { subtask: slot, parallelism } = this.context
    const part: RatingErrorPart = {
      version: metadata.version,
      slot,
      parallelism,
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
    }
    this.context.output.collectSide(LEARNING_ERROR.id, part, -1)
  }
}

/** Alarms of both detectors on the errors of a version. */
function alarmCount(version: LearnedVersion | undefined): number {
  if (version === undefined) return 0
  const { alarms } = version.measures.drift
  return alarms.adwin.count + alarms['page-hinkley'].count
}
