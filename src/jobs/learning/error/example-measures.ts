import type { ByteReader } from '../../../core/byte-reader.ts'
import type { ByteWriter } from '../../../core/byte-writer.ts'
import type { Clock } from '../../../core/clock.ts'
import { areaUnderCurve } from '../../../models/quality/area-under-curve.ts'
import { DriftMonitor } from '../../../models/quality/drift-monitor.ts'
import { NewestValues } from '../../../models/quality/newest-values.ts'
import {
  PrequentialError,
  type PrequentialOptions,
} from '../../../models/quality/prequential-error.ts'
import { WorseTest } from '../../../models/quality/worse-test.ts'
import type { ExampleErrorPart } from './example-error.ts'
import type { SlotPart } from './learning-error.ts'
import type { Measures } from './measures-state.ts'

/** Examples whose ranks give the area under the curve, unless the window has another length. */
const RANKED = 1000
/** A larger loss counts as this one where predictions are compared with those without learning: a margin of -3 or less. */
const LARGEST_LOSS = 4

/** A prediction of a label. */
export interface LabelPrediction {
  readonly decision: number
  readonly isPositive: boolean
  readonly loss: number
  /** Time of the example, ms since 1970; -1 where it has none. @default -1 */
  readonly timeMs?: number
}

/**
 * What a slot measures of the predictions of labels by one version. In a checkpoint: loss and wrong labels
 * (`PrequentialError`), the detectors (`DriftMonitor`), the newest decision values and their labels (`NewestValues`); then what
 * checkpoints of earlier builds lack, the loss without learning (`PrequentialError`) and the test whether the first is worse
 * (`WorseTest`).
 */
export class ExampleMeasures implements Measures {
  private readonly loss: PrequentialError
  /** 1 for a wrong label, else 0. */
  private readonly wrong: PrequentialError
  private readonly decisions: NewestValues
  /** 1 for a positive example, else 0. */
  private readonly labels: NewestValues
  private readonly drift = new DriftMonitor()
  /** Of the version without learning, on a sample. */
  private readonly frozenLoss: PrequentialError
  /** Whether learning has made the predictions worse. */
  readonly worse = new WorseTest(LARGEST_LOSS)

  constructor(options: PrequentialOptions = {}) {
    const { window = RANKED } = options
    this.loss = new PrequentialError(options)
    this.wrong = new PrequentialError(options)
    this.frozenLoss = new PrequentialError(options)
    this.decisions = new NewestValues(window)
    this.labels = new NewestValues(window)
  }

  /** Examples so far. */
  get count(): number {
    return this.wrong.count
  }

  /** Alarms of both detectors so far. */
  get alarms(): number {
    return this.drift.alarmCount
  }

  /** Alarms of an error without learning that falls. */
  get betterAlarms(): number {
    return this.drift.alarms.better.count
  }

  /** Adds a prediction, whose loss and decision value are finite. `clock`: read at an alarm only. */
  add({ decision, isPositive, loss, timeMs }: LabelPrediction, clock: Pick<Clock, 'nowMs'>): void {
    const wrong = decision > 0 === isPositive ? 0 : 1
    this.loss.addLoss(loss, true)
    this.wrong.addLoss(wrong, true)
    this.decisions.add(decision)
    this.labels.add(isPositive ? 1 : 0)
    this.drift.add(wrong, clock, timeMs)
  }

  /** Adds a prediction without learning, likewise. */
  addFrozen(
    { decision, isPositive, loss, timeMs }: LabelPrediction,
    clock: Pick<Clock, 'nowMs'>,
  ): void {
    this.frozenLoss.addLoss(loss, true)
    this.drift.addFrozen(decision > 0 === isPositive ? 0 : 1, clock, timeMs)
  }

  /** Leaves the start out: other slots have learned the version before. */
  leaveOutStart(): void {
    this.loss.leaveOutStart()
    this.wrong.leaveOutStart()
  }

  /** Mean loss: over all examples, and with the fading factor. */
  get meanLoss(): number {
    return this.loss.mse
  }

  get fadedLoss(): number {
    return this.loss.fadedMse
  }

  /** Loss without learning, with the fading factor. */
  get fadedFrozenLoss(): number {
    return this.frozenLoss.fadedMse
  }

  /** Share of right labels: over all examples, and with the fading factor. */
  get accuracy(): number {
    return 1 - this.wrong.mse
  }

  get fadedAccuracy(): number {
    return 1 - this.wrong.fadedMse
  }

  /** Area under the curve of the newest examples. */
  get auc(): number {
    return areaUnderCurve(this.decisions.newest(), this.labels.newest()).area
  }

  /** The slot's part of the error. */
  figures(): Omit<ExampleErrorPart, keyof SlotPart | 'isStopped'> {
    const { loss, wrong } = this
    const ranked = areaUnderCurve(this.decisions.newest(), this.labels.newest())
    return {
      examples: this.count,
      loss: this.meanLoss,
      windowLoss: loss.windowMse,
      fadedLoss: this.fadedLoss,
      frozenLoss: this.fadedFrozenLoss,
      frozenExamples: this.frozenLoss.count,
      accuracy: this.accuracy,
      windowAccuracy: 1 - wrong.windowMse,
      fadedAccuracy: this.fadedAccuracy,
      startAccuracy: 1 - wrong.startMse,
      startExamples: wrong.startCount,
      auc: ranked.area,
      pairs: ranked.positives * ranked.negatives,
      alarms: this.drift.alarms,
    }
  }

  write(writer: ByteWriter): void {
    for (const part of this.sums()) part.write(writer)
    for (const window of [this.decisions, this.labels]) window.write(writer)
    for (const part of [this.frozenLoss, this.worse]) part.write(writer)
  }

  join(reader: ByteReader): void {
    const own = this.count
    for (const part of this.sums()) part.join(reader)
    // Both windows are joined alike, so each decision keeps its label.
    for (const window of [this.decisions, this.labels]) window.join(reader, own / this.count)
    if (reader.remaining === 0) return
    for (const part of [this.frozenLoss, this.worse]) part.join(reader)
  }

  private sums(): readonly Measures[] {
    return [this.loss, this.wrong, this.drift]
  }
}
