import type { PrequentialOptions } from '../../../models/quality/prequential-error.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { EXAMPLE_ERROR, type ExampleErrorPart } from '../error/example-error.ts'
import { ExampleMeasures } from '../error/example-measures.ts'
import { MeasuresState } from '../error/measures-state.ts'
import { REPORT_MS, SlotReports } from '../error/slot-reports.ts'
import { LEARNING_PLACES } from '../observations-gate.ts'
import { learnedVersions } from '../resume-offsets.ts'
import { ComparedVersion, StagesState } from '../stops/stage.ts'

/** Versions whose measures are kept: the one learned on and those before it. */
const KEPT = 4

/** What a slot knows of a version whose examples it predicts. */
class ObservedVersion extends ComparedVersion {
  readonly measures: ExampleMeasures

  constructor(options: PrequentialOptions) {
    super()
    this.measures = new ExampleMeasures(options)
  }
}

/** How the predictions of a slot are measured. */
export interface LinearLiveErrorOptions {
  readonly prequential: PrequentialOptions
  /** Learning is never stopped, so that there are no predictions without learning. */
  readonly neverStop: boolean
}

/** Measures the predictions of each version of a linear model in a slot, and reports them as metrics and as records. */
export class LinearLiveError {
  private readonly options: PrequentialOptions
  private readonly context: OperatorContext
  private readonly state: MeasuresState
  private readonly stages: StagesState
  private readonly reports: SlotReports<ExampleErrorPart>
  /** By version; the one that is learned on is the last. */
  private readonly versions = new Map<number, ObservedVersion>()
  /** Versions that the job had learned in the checkpoint, in any slot. */
  private readonly learned: ReadonlySet<number>
  private dueMs = 0
  private current: ObservedVersion | undefined
  private version = 0

  /** Throws UNSUPPORTED_VERSION where a newer build wrote the checkpoint. */
  constructor(context: OperatorContext, { prequential, neverStop }: LinearLiveErrorOptions) {
    this.context = context
    this.options = prequential
    const { metrics, operatorState } = context
    this.state = new MeasuresState(operatorState)
    this.stages = new StagesState(operatorState, neverStop)
    this.reports = new SlotReports(context, EXAMPLE_ERROR)
    this.learned = new Set(learnedVersions(operatorState.restored(LEARNING_PLACES)))
    for (const version of this.state.versions) this.of(version)
    const figure = (of: (measures: ExampleMeasures) => number): number =>
      this.current === undefined ? Number.NaN : of(this.current.measures)
    metrics.gauge('learningVersion', () => this.version)
    metrics.gauge('prequentialLoss', () => figure((measures) => measures.meanLoss))
    metrics.gauge('prequentialFadedLoss', () => figure((measures) => measures.fadedLoss))
    metrics.gauge('prequentialFrozenLoss', () => figure(({ fadedFrozenLoss }) => fadedFrozenLoss))
    metrics.gauge('prequentialAccuracy', () => figure((measures) => measures.accuracy))
    metrics.gauge('prequentialFadedAccuracy', () => figure(({ fadedAccuracy }) => fadedAccuracy))
    metrics.gauge('prequentialAuc', () => figure((measures) => measures.auc))
    metrics.gauge('learningStopped', () => (this.current?.isStopped === true ? 1 : 0))
    metrics.gauge('driftAlarms', () => this.current?.measures.alarms ?? 0)
    metrics.gauge('betterAlarms', () => this.current?.measures.betterAlarms ?? 0)
    this.schedule()
  }

  /** A version whose examples are predicted; it is the newest one from here on. */
  of(version: number): ObservedVersion {
    return version === this.version ? this.current! : this.begin(version)
  }

  /** Reports what has changed, where that is due. */
  emitDue(timestampMs: number): void {
    if (timestampMs < this.dueMs) return
    this.schedule()
    for (const [version, { measures, phase, isStopped }] of this.versions) {
      this.reports.send(version, measures.count + phase, () => ({
        ...measures.figures(),
        isStopped,
      }))
    }
  }

  /** Puts the measures and the stages into the next checkpoint. */
  snapshot(): void {
    this.state.update([...this.versions].map(([version, { measures }]) => [version, measures]))
    this.stages.update(this.versions)
  }

  private begin(version: number): ObservedVersion {
    const observed = this.versions.get(version) ?? this.restored(version)
    this.versions.delete(version)
    this.versions.set(version, observed)
    for (const old of [...this.versions.keys()].slice(0, -KEPT)) this.versions.delete(old)
    this.version = version
    this.current = observed
    return observed
  }

  private restored(version: number): ObservedVersion {
    const observed = new ObservedVersion(this.options)
    const { measures } = observed
    const wasLearned = this.learned.has(version)
    // Other slots have learned it from its start.
    if (!this.state.joinInto(version, measures) && wasLearned) measures.leaveOutStart()
    this.stages.restore(version, observed, wasLearned)
    return observed
  }

  private schedule(): void {
    this.dueMs = this.context.clock.nowMs() + REPORT_MS
    this.context.scheduleProcessingTime(this.dueMs)
  }
}
