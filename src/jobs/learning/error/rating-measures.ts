import type { ByteReader } from '../../../core/byte-reader.ts'
import type { ByteWriter } from '../../../core/byte-writer.ts'
import type { Clock } from '../../../core/clock.ts'
import { DriftMonitor, EARLIER_ALARMS_LENGTH } from '../../../models/quality/drift-monitor.ts'
import {
  EARLIER_ERROR_LENGTH,
  PrequentialError,
  type PrequentialOptions,
} from '../../../models/quality/prequential-error.ts'
import { WorseTest } from '../../../models/quality/worse-test.ts'
import type { Measures } from './measures-state.ts'

/**
 * What a slot measures of the predictions of ratings by one version. In a checkpoint: the error of the model that
 * learns, that of the version without learning (both `PrequentialError`), the detectors (`DriftMonitor`), and the test
 * whether the first is worse than the second (`WorseTest`), which checkpoints of earlier builds lack.
 */
export class RatingMeasures implements Measures {
  readonly error: PrequentialError
  /** Of the version without learning, on a sample. */
  readonly frozenError: PrequentialError
  /** Detectors of a rise of either error. */
  readonly drift: DriftMonitor
  /** Whether learning has made the predictions worse. */
  readonly worse: WorseTest

  /** `largestSquaredError`: that is expected of a prediction. */
  constructor(largestSquaredError: number, options: PrequentialOptions = {}) {
    this.error = new PrequentialError(options)
    this.frozenError = new PrequentialError(options)
    this.drift = new DriftMonitor()
    this.worse = new WorseTest(largestSquaredError)
  }

  /** Adds the error of a prediction; `known`: both rows existed. `clock`, `timeMs`: as those of `DriftMonitor.add`. */
  add(error: number, known: boolean, clock: Pick<Clock, 'nowMs'>, timeMs?: number): void {
    this.error.add(error, known)
    this.drift.add(error * error, clock, timeMs)
  }

  /** Adds the error of a prediction without learning. */
  addFrozen(error: number, known: boolean, clock: Pick<Clock, 'nowMs'>, timeMs?: number): void {
    this.frozenError.add(error, known)
    this.drift.addFrozen(error * error, clock, timeMs)
  }

  /** Leaves the start out of the errors: other slots have learned the version before. */
  leaveOutStart(): void {
    this.error.leaveOutStart()
    this.frozenError.leaveOutStart()
  }

  write(writer: ByteWriter): void {
    for (const part of [this.error, this.frozenError, this.drift, this.worse]) part.write(writer)
  }

  join(reader: ByteReader): void {
    for (const part of [this.error, this.frozenError, this.drift]) part.join(reader)
    if (reader.remaining > 0) this.worse.join(reader)
  }

  /**
   * Adds the numbers of a checkpoint of before the windows were state: of the error, of the alarms, of the frozen
   * error. Checkpoints of before the alarms have five, those of before the frozen error end with the alarms.
   */
  restoreEarlier(numbers: Float64Array): void {
    const alarms = numbers.subarray(EARLIER_ERROR_LENGTH)
    this.error.restoreEarlier(numbers.subarray(0, EARLIER_ERROR_LENGTH))
    this.drift.restoreEarlier(alarms)
    const frozen = alarms.subarray(EARLIER_ALARMS_LENGTH)
    if (frozen.length > 0) this.frozenError.restoreEarlier(frozen)
  }
}
