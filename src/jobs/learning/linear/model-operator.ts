import { rawKeySerializer } from '../../../core/formats/plain-key-serializer.ts'
import type { FtrlOptions } from '../../../models/linear/ftrl.ts'
import type { WeightUpdate } from '../../../models/linear/weight-update.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { KeyedProcessOperator } from '../../../operators/process/keyed-process.ts'
import type { LearnableVersion, LearnerOrder, LearnerReport } from '../messages.ts'
import { Forgetting } from '../stops/forgetting.ts'
import { LearningStage, StagesState } from '../stops/stage.ts'
import { LearnedWeights } from './learned-weights.ts'
import { StepFolds } from './step-folds.ts'

/** The order to begin a version. */
type BeginOrder = Extract<LearnerOrder<LearnableVersion, null>, { readonly kind: 'begin' }>

/** Options of the operator. */
export interface LearnedWeightsOperatorOptions {
  /** Features of one block. */
  readonly range: number
  /** Steps are folded by FTRL-proximal. @default by the normalised adaptive gradient */
  readonly ftrl?: FtrlOptions | undefined
  /** Learning is never stopped, so that no blocks are copied. @default false */
  readonly neverStop?: boolean | undefined
}

/**
 * Keeps the weights of a linear model that learns, and says of each part of a step that it is folded: then
 * the memory that examples are predicted from has it. It takes input at all times, also before a version is begun: the
 * orders of the coordinator give it the counts of the attempt, and the phases of learning.
 */
export class LearnedWeightsOperator extends KeyedProcessOperator<Uint8Array, WeightUpdate, never> {
  private readonly weights: LearnedWeights
  private readonly neverStop: boolean
  private readonly stages: Map<number, LearningStage>
  private state!: StagesState
  private forgetting!: Forgetting
  private folds: StepFolds | undefined
  /** Tickets of parts that were folded before the counts came: other slots may have them earlier. */
  private readonly early: number[] = []

  constructor({ range, ftrl, neverStop = false }: LearnedWeightsOperatorOptions) {
    const stages = new Map<number, LearningStage>()
    const isStopped = (version: number): boolean => stages.get(version)?.isStopped === true
    const weights = new LearnedWeights({ range, ftrl, neverStop, isStopped })
    super(weights, rawKeySerializer, false)
    this.weights = weights
    this.stages = stages
    this.neverStop = neverStop
  }

  override open(context: OperatorContext): void | Promise<void> {
    const opened = super.open(context)
    this.forgetting = new Forgetting(context)
    this.state = new StagesState(context.operatorState, this.neverStop)
    for (const version of this.state.versions) this.stageOf(version)
    this.report({ kind: 'opened', known: [...this.stages.keys()], phases: this.state.phases })
    return opened
  }

  override handleEvent(event: unknown): void {
    const order = event as LearnerOrder<LearnableVersion, null>
    if (order.kind === 'begin') {
      this.begin(order)
      return
    }
    const { version } = order.metadata
    this.report({ kind: 'measured', version, kept: false, constants: null })
  }

  override processElement(input: number, value: unknown, timestamp: number): void {
    super.processElement(input, value, timestamp)
    const update = value as WeightUpdate
    if (update.kind === 'retire') this.stages.delete(update.version)
    if (update.kind !== 'step' || update.ticket === 0) return
    if (this.folds === undefined) this.early.push(update.ticket)
    else this.folds.folded(update.ticket)
  }

  override onProcessingTime(timestampMs: number): void {
    this.forgetting.due()
    super.onProcessingTime(timestampMs)
  }

  override prepareSnapshot(checkpointId: number): void | Promise<void> {
    this.forgetting.beforeSnapshot()
    this.state.update(this.stages)
    return super.prepareSnapshot(checkpointId)
  }

  override close(): void | Promise<void> {
    this.forgetting.close()
    return super.close()
  }

  private begin({ metadata: { version }, inFlight, phase = 0 }: BeginOrder): void {
    const folds = new StepFolds(inFlight)
    this.folds = folds
    for (const ticket of this.early.splice(0)) folds.folded(ticket)
    const done = (): void => this.report({ kind: 'begun', version })
    if (!this.stageOf(version).advanceTo(phase)) done()
    else this.forgetting.add({ beginAgain: () => this.weights.beginAgain(version), done })
  }

  /** The stage of a version, from the checkpoint where that has it. */
  private stageOf(version: number): LearningStage {
    const known = this.stages.get(version)
    if (known !== undefined) return known
    const stage = new LearningStage()
    this.state.restore(version, stage, false)
    this.stages.set(version, stage)
    return stage
  }

  private report(report: LearnerReport<null>): void {
    this.context.sendEvent(report)
  }
}
