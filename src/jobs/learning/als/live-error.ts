import type { OperatorContext } from '../../../operators/port/operator.ts'
import { LEARNING_ERROR, type LearningErrorPart } from './records.ts'
import type { LearnedVersion } from './version.ts'

/** Reports the error of predictions of the version that is learned on, as metrics and as records. */
export class LiveError {
  private readonly context: OperatorContext
  private readonly current: () => LearnedVersion | undefined
  /** Version and ratings of the last report. */
  private reported = ''

  constructor(context: OperatorContext, current: () => LearnedVersion | undefined) {
    this.context = context
    this.current = current
    const { metrics } = context
    const error = (): LearnedVersion['error'] | undefined => current()?.error
    metrics.gauge('learningVersion', () => current()?.metadata.version ?? 0)
    metrics.gauge('prequentialMse', () => error()?.mse ?? Number.NaN)
    metrics.gauge('prequentialWindowMse', () => error()?.windowMse ?? Number.NaN)
    metrics.gauge('prequentialFadedMse', () => error()?.fadedMse ?? Number.NaN)
    metrics.gauge('prequentialFrozenMse', () => current()?.frozenError.fadedMse ?? Number.NaN)
    metrics.gauge('driftAlarms', () => alarmCount(current()))
    metrics.gauge('prequentialCoverage', () => error()?.coverage ?? Number.NaN)
  }

  /** Sends the error where it has changed, and once in each attempt: it replaces that of the slots before. */
  emit(): void {
    const current = this.current()
    if (current === undefined) return
    const { error, frozenError, drift, metadata } = current
    const report = `${metadata.version}/${error.count}`
    if (report === this.reported) return
    this.reported = report
    const { subtask: slot, parallelism } = this.context
    const part: LearningErrorPart = {
      version: metadata.version,
      slot,
      parallelism,
      ratings: error.count,
      mse: error.mse,
      windowMse: error.windowMse,
      fadedMse: error.fadedMse,
      coverage: error.coverage,
      startMse: error.startMse,
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
  const { alarms } = version.drift
  return alarms.adwin.count + alarms['page-hinkley'].count
}
