import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import type { Clock } from '../../core/clock.ts'
import { Adwin } from './adwin.ts'
import { type ChangeName, ErrorBatches } from './error-batches.ts'
import { PageHinkley } from './page-hinkley.ts'

/** Detectors by the names of `weir retrain --on-drift`. */
export const DRIFT_DETECTORS = ['adwin', 'page-hinkley'] as const

/** Name of a detector. */
export type DriftDetectorName = (typeof DRIFT_DETECTORS)[number]

/** Alarms of a detector. */
export interface DriftAlarms {
  readonly count: number
  /** Time of the newest alarm, ms since 1970; -1 before the first. */
  readonly lastMs: number
}

/** Alarms of every detector, on a rise of the error; `better`: on a fall of the error without learning, which has no cause in learning. */
export type AlarmsByDetector = Readonly<Record<ChangeName, DriftAlarms>>

const NONE: DriftAlarms = { count: 0, lastMs: -1 }

/** No alarms. */
export const NO_ALARMS: AlarmsByDetector = { adwin: NONE, 'page-hinkley': NONE, better: NONE }

interface MutableAlarms {
  count: number
  lastMs: number
}

const ALARMS = [...DRIFT_DETECTORS, 'better'] as const

/** The clock that is read at an alarm. */
type AlarmClock = Pick<Clock, 'nowMs'>

/** Stands where checkpoints of earlier builds have the number of alarms. */
const BATCHES = -1

/**
 * Watches the squared errors of a model's predictions, in batches (`ErrorBatches`), with both detectors: those of the model that
 * learns, and those of the same model without learning. A model that learns heals itself, so its error
 * can fall again before a detector is certain; that of the frozen model stays. A change that one of the two shows is the same as
 * that of the other one, so it is one alarm. The frozen model does not get better by itself: where its error falls, it predicts
 * what it was trained on, or other users, which is an alarm of its own.
 *
 * In a checkpoint: `| -1 f64 | alarms f64, time of the newest f64: of adwin, of page-hinkley, of better |`, then the errors of
 * the model that learns and those of the frozen one.
 */
export class DriftMonitor {
  private readonly learned = new ErrorBatches(DRIFT_DETECTORS)
  private readonly frozen = new ErrorBatches(ALARMS)
  private readonly found: Readonly<Record<ChangeName, MutableAlarms>> = {
    adwin: { ...NONE },
    'page-hinkley': { ...NONE },
    better: { ...NONE },
  }

  /**
   * Adds the squared error of a prediction of the model that learns. `clock`: read at an alarm only. `timeMs`: of the
   * prediction, for the time of the day; -1 where it has none.
   */
  add(squaredError: number, clock: AlarmClock, timeMs: number = -1): void {
    const found = this.learned.add(squaredError, timeMs)
    if (found.length > 0) this.raise(found, this.frozen, clock)
  }

  /** Adds the squared error of a prediction of the frozen model, likewise. */
  addFrozen(squaredError: number, clock: AlarmClock, timeMs: number = -1): void {
    const found = this.frozen.add(squaredError, timeMs)
    if (found.length > 0) this.raise(found, this.learned, clock)
  }

  /** Alarms of both detectors so far. */
  get alarmCount(): number {
    return this.found.adwin.count + this.found['page-hinkley'].count
  }

  /** The alarms so far. */
  get alarms(): AlarmsByDetector {
    const { adwin, 'page-hinkley': pageHinkley, better } = this.found
    return { adwin: { ...adwin }, 'page-hinkley': { ...pageHinkley }, better: { ...better } }
  }

  /** Writes alarms and detectors for a checkpoint. */
  write(writer: ByteWriter): void {
    writer.float64(BATCHES)
    for (const name of ALARMS) {
      writer.float64(this.found[name].count)
      writer.float64(this.found[name].lastMs)
    }
    for (const errors of [this.learned, this.frozen]) errors.write(writer)
  }

  /** Adds another monitor of `write`: its alarms, and what each of its detectors has seen; of an earlier build, its alarms. */
  join(reader: ByteReader): void {
    const first = reader.float64()
    if (first === BATCHES) {
      for (const name of ALARMS) restoreAlarms(this.found[name], reader.float64(), reader.float64())
      for (const errors of [this.learned, this.frozen]) errors.join(reader)
      return
    }
    restoreAlarms(this.found.adwin, first, reader.float64())
    restoreAlarms(this.found['page-hinkley'], reader.float64(), reader.float64())
    // Their detectors had seen errors one by one.
    for (let stream = 0; stream < 2; stream++) {
      for (const detector of [new Adwin(), new PageHinkley()]) detector.join(reader)
    }
  }

  /** Adds the alarms of a checkpoint of before the detectors were state, `[count, time]` of each. */
  restoreEarlier(numbers: ArrayLike<number>): void {
    restoreAlarms(this.found.adwin, numbers[0] ?? 0, numbers[1] ?? -1)
    restoreAlarms(this.found['page-hinkley'], numbers[2] ?? 0, numbers[3] ?? -1)
  }

  /** Counts the alarms on errors; `other`: the other errors, which show the same change. */
  private raise(found: readonly ChangeName[], other: ErrorBatches, clock: AlarmClock): void {
    for (const name of found) {
      const alarms = this.found[name]
      alarms.count++
      alarms.lastMs = clock.nowMs()
      other.restart(name)
    }
  }
}

function restoreAlarms(alarms: MutableAlarms, count: number, lastMs: number): void {
  alarms.count += count
  alarms.lastMs = Math.max(alarms.lastMs, lastMs)
}

/** Numbers of alarms in checkpoints of before the detectors were state. */
export const EARLIER_ALARMS_LENGTH = 4

/** The alarms of several slots. */
export function joinedAlarms(parts: readonly AlarmsByDetector[]): AlarmsByDetector {
  const of = (name: ChangeName): DriftAlarms => {
    // A part of an earlier build has no alarms of `better`.
    const found = parts.map((part) => part[name] ?? NONE)
    return {
      count: found.reduce((sum, { count }) => sum + count, 0),
      lastMs: Math.max(-1, ...found.map(({ lastMs }) => lastMs)),
    }
  }
  return { adwin: of('adwin'), 'page-hinkley': of('page-hinkley'), better: of('better') }
}

/** The largest squared error of predictions within a range of ratings; 16, that of 1 to 5, if unknown. */
export function largestSquaredError(range: { readonly min: number; readonly max: number }): number {
  const square = (range.max - range.min) ** 2
  return Number.isFinite(square) && square > 0 ? square : 16
}
