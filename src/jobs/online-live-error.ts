import type { OperatorContext } from '../operators/operator.ts'
import { LEARNING_ERROR } from './online-records.ts'
import type { LearnedVersion } from './online-version.ts'

/** Tells how far off the predictions of the version that is learned on are: as metrics and as records. */
export class LiveError {
  private readonly context: OperatorContext
  private readonly current: () => LearnedVersion | undefined
  private told = 0

  constructor(context: OperatorContext, current: () => LearnedVersion | undefined) {
    this.context = context
    this.current = current
    const { metrics } = context
    const error = (): LearnedVersion['error'] | undefined => current()?.error
    metrics.gauge('learningVersion', () => current()?.facts.version ?? 0)
    metrics.gauge('prequentialMse', () => error()?.mse ?? Number.NaN)
    metrics.gauge('prequentialWindowMse', () => error()?.windowMse ?? Number.NaN)
    metrics.gauge('prequentialFadedMse', () => error()?.fadedMse ?? Number.NaN)
    metrics.gauge('prequentialCoverage', () => error()?.coverage ?? Number.NaN)
  }

  /** Sends the error on where it has changed. */
  emit(): void {
    const current = this.current()
    if (current === undefined || current.error.count === this.told) return
    const { error, facts } = current
    this.told = error.count
    const part = {
      version: facts.version,
      slot: this.context.subtask,
      ratings: error.count,
      mse: error.mse,
      windowMse: error.windowMse,
      fadedMse: error.fadedMse,
      coverage: error.coverage,
    }
    this.context.output.collectSide(LEARNING_ERROR.id, part, -1)
  }
}
