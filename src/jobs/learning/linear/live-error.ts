import type { PrequentialOptions } from '../../../models/quality/prequential-error.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { EXAMPLE_ERROR, type ExampleErrorPart } from '../error/example-error.ts'
import { ExampleMeasures } from '../error/example-measures.ts'
import { MeasuresState } from '../error/measures-state.ts'
import { REPORT_MS, SlotReports } from '../error/slot-reports.ts'
import { LEARNING_PLACES } from '../observations-gate.ts'
import { learnedVersions } from '../resume-offsets.ts'

/** Versions whose measures are kept: the one learned on and those before it. */
const KEPT = 4

/** Measures the predictions of each version of a linear model in a slot, and reports them as metrics and as records. */
export class LinearLiveError {
  private readonly options: PrequentialOptions
  private readonly context: OperatorContext
  private readonly state: MeasuresState
  private readonly reports: SlotReports<ExampleErrorPart>
  /** By version; the one that is learned on is the last. */
  private readonly measures = new Map<number, ExampleMeasures>()
  /** Versions that the job had learned in the checkpoint, in any slot. */
  private readonly learned: ReadonlySet<number>
  private dueMs = 0
  private current: ExampleMeasures | undefined
  private version = 0

  /** Throws UNSUPPORTED_VERSION where a newer build wrote the checkpoint. */
  constructor(context: OperatorContext, options: PrequentialOptions) {
    this.context = context
    this.options = options
    const { metrics, operatorState } = context
    this.state = new MeasuresState(operatorState)
    this.reports = new SlotReports(context, EXAMPLE_ERROR)
    this.learned = new Set(learnedVersions(operatorState.restored(LEARNING_PLACES)))
    for (const version of this.state.versions) this.begin(version)
    const figure = (of: (measures: ExampleMeasures) => number): number =>
      this.current === undefined ? Number.NaN : of(this.current)
    metrics.gauge('learningVersion', () => this.version)
    metrics.gauge('prequentialLoss', () => figure((measures) => measures.meanLoss))
    metrics.gauge('prequentialFadedLoss', () => figure((measures) => measures.fadedLoss))
    metrics.gauge('prequentialAccuracy', () => figure((measures) => measures.accuracy))
    metrics.gauge('prequentialFadedAccuracy', () => figure(({ fadedAccuracy }) => fadedAccuracy))
    metrics.gauge('prequentialAuc', () => figure((measures) => measures.auc))
    metrics.gauge('driftAlarms', () => this.current?.alarms ?? 0)
    this.schedule()
  }

  /** Adds a prediction of a version; `loss` and `decision` are finite. */
  add(version: number, decision: number, label: number, loss: number): void {
    if (version !== this.version) this.begin(version)
    this.current!.add(decision, label > 0, loss, this.context.clock)
  }

  /** Reports what has changed, where that is due. */
  emitDue(timestampMs: number): void {
    if (timestampMs < this.dueMs) return
    this.schedule()
    for (const [version, measures] of this.measures) {
      this.reports.send(version, measures.count, () => measures.figures())
    }
  }

  /** Puts the measures into the next checkpoint. */
  snapshot(): void {
    this.state.update(this.measures)
  }

  private begin(version: number): void {
    const known = this.measures.get(version)
    const measures = known ?? new ExampleMeasures(this.options)
    if (known === undefined) {
      const isJoined = this.state.joinInto(version, measures)
      // Other slots have learned it from its start.
      if (!isJoined && this.learned.has(version)) measures.leaveOutStart()
    }
    this.measures.delete(version)
    this.measures.set(version, measures)
    for (const old of [...this.measures.keys()].slice(0, -KEPT)) this.measures.delete(old)
    this.version = version
    this.current = measures
  }

  private schedule(): void {
    this.dueMs = this.context.clock.nowMs() + REPORT_MS
    this.context.scheduleProcessingTime(this.dueMs)
  }
}
