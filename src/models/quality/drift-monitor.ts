import type { Clock } from '../../core/clock.ts'
import { Adwin } from './adwin.ts'
import type { DriftDetector } from './drift-detector.ts'
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

/** Alarms of every detector. */
export type AlarmsByDetector = Readonly<Record<DriftDetectorName, DriftAlarms>>

/** No alarms. */
export const NO_ALARMS: AlarmsByDetector = {
  adwin: { count: 0, lastMs: -1 },
  'page-hinkley': { count: 0, lastMs: -1 },
}

/** Every 32nd error is a check: over a million ratings the default of `Adwin` would raise false alarms. */
const ADWIN_DELTA = 1e-5

interface MutableAlarms {
  count: number
  lastMs: number
}

/**
 * Watches every squared error of a model's predictions with both detectors: those of the model that
 * learns, and those of the same model without learning. A model that learns heals itself, so its error
 * can fall again before a detector is certain; that of the frozen model stays.
 */
export class DriftMonitor {
  private readonly learned: Readonly<Record<DriftDetectorName, DriftDetector>>
  private readonly frozen: Readonly<Record<DriftDetectorName, DriftDetector>>
  private readonly adwin: MutableAlarms = { count: 0, lastMs: -1 }
  private readonly pageHinkley: MutableAlarms = { count: 0, lastMs: -1 }

  /** `scale`: largest squared error that is expected. */
  constructor(scale: number) {
    this.learned = {
      adwin: new Adwin({ scale, delta: ADWIN_DELTA }),
      'page-hinkley': new PageHinkley(),
    }
    this.frozen = {
      adwin: new Adwin({ scale, delta: ADWIN_DELTA }),
      'page-hinkley': new PageHinkley(),
    }
  }

  /** Adds the squared error of a prediction of the model that learns. `clock`: read at an alarm only. */
  add(squaredError: number, clock: Pick<Clock, 'nowMs'>): void {
    if (this.learned.adwin.add(squaredError)) raise(this.adwin, clock)
    if (this.learned['page-hinkley'].add(squaredError)) raise(this.pageHinkley, clock)
  }

  /** Adds the squared error of a prediction of the frozen model. */
  addFrozen(squaredError: number, clock: Pick<Clock, 'nowMs'>): void {
    if (this.frozen.adwin.add(squaredError)) raise(this.adwin, clock)
    if (this.frozen['page-hinkley'].add(squaredError)) raise(this.pageHinkley, clock)
  }

  /** The alarms so far. */
  get alarms(): AlarmsByDetector {
    return { adwin: { ...this.adwin }, 'page-hinkley': { ...this.pageHinkley } }
  }

  /** Alarms for a checkpoint. The windows of the detectors are not part of them. */
  encode(): readonly number[] {
    const { adwin, pageHinkley } = this
    return [adwin.count, adwin.lastMs, pageHinkley.count, pageHinkley.lastMs]
  }

  /** Adds `encode` of another monitor. */
  restore(numbers: ArrayLike<number>): void {
    restoreAlarms(this.adwin, numbers[0] ?? 0, numbers[1] ?? -1)
    restoreAlarms(this.pageHinkley, numbers[2] ?? 0, numbers[3] ?? -1)
  }
}

function raise(alarms: MutableAlarms, clock: Pick<Clock, 'nowMs'>): void {
  alarms.count++
  alarms.lastMs = clock.nowMs()
}

function restoreAlarms(alarms: MutableAlarms, count: number, lastMs: number): void {
  alarms.count += count
  alarms.lastMs = Math.max(alarms.lastMs, lastMs)
}

/** Numbers of `DriftMonitor.encode`. */
export const ENCODED_ALARMS_LENGTH = 4

/** The alarms of several slots. */
export function joinedAlarms(parts: readonly AlarmsByDetector[]): AlarmsByDetector {
  const of = (name: DriftDetectorName): DriftAlarms => ({
    count: parts.reduce((sum, part) => sum + part[name].count, 0),
    lastMs: Math.max(-1, ...parts.map((part) => part[name].lastMs)),
  })
  return { adwin: of('adwin'), 'page-hinkley': of('page-hinkley') }
}

/** The largest squared error of predictions within a range of ratings; 16, that of 1 to 5, if unknown. */
export function largestSquaredError(range: { readonly min: number; readonly max: number }): number {
  const square = (range.max - range.min) ** 2
  return Number.isFinite(square) && square > 0 ? square : 16
}
