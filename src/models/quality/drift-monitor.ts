import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
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
 *
 * In a checkpoint: `| alarms f64, time of the newest f64: of adwin, of page-hinkley |`, then both detectors of
 * the model that learns and both of the frozen one.
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

  /** Alarms of both detectors so far. */
  get alarmCount(): number {
    return this.adwin.count + this.pageHinkley.count
  }

  /** The alarms so far. */
  get alarms(): AlarmsByDetector {
    return { adwin: { ...this.adwin }, 'page-hinkley': { ...this.pageHinkley } }
  }

  /** Writes alarms and detectors for a checkpoint. */
  write(writer: ByteWriter): void {
    for (const { count, lastMs } of [this.adwin, this.pageHinkley]) {
      writer.float64(count)
      writer.float64(lastMs)
    }
    for (const detector of this.detectors()) detector.write(writer)
  }

  /** Adds another monitor of `write`: its alarms, and what each of its detectors has seen. */
  join(reader: ByteReader): void {
    for (const alarms of [this.adwin, this.pageHinkley]) {
      restoreAlarms(alarms, reader.float64(), reader.float64())
    }
    for (const detector of this.detectors()) detector.join(reader)
  }

  /** Adds the alarms of a checkpoint of before the detectors were state, `[count, time]` of each. */
  restoreEarlier(numbers: ArrayLike<number>): void {
    restoreAlarms(this.adwin, numbers[0] ?? 0, numbers[1] ?? -1)
    restoreAlarms(this.pageHinkley, numbers[2] ?? 0, numbers[3] ?? -1)
  }

  private detectors(): readonly DriftDetector[] {
    const of = (all: Readonly<Record<DriftDetectorName, DriftDetector>>) =>
      DRIFT_DETECTORS.map((name) => all[name])
    return [...of(this.learned), ...of(this.frozen)]
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

/** Numbers of alarms in checkpoints of before the detectors were state. */
export const EARLIER_ALARMS_LENGTH = 4

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
