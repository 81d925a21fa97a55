import { rawKeySerializer } from '../../../dataflow/key-serializer.ts'
import type { WeightUpdate } from '../../../models/linear/weight-update.ts'
import { LinearServingFunction } from '../../../models/topic/linear-serving-function.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { KeyedProcessOperator } from '../../../operators/process/keyed-process.ts'
import type { GateOrder, GateReport } from '../messages.ts'
import { StepFolds } from './step-folds.ts'

/**
 * Keeps the weights of a linear model that learns, and says of each part of a step that it is folded: then
 * the memory that examples are predicted from has it. It takes input at all times; the coordinator of
 * learning gives it the counts of the attempt as it does to the gates.
 */
export class LearnedWeightsOperator extends KeyedProcessOperator<Uint8Array, WeightUpdate, never> {
  private folds: StepFolds | undefined
  /** Tickets of parts that were folded before the counts came: other slots may have them earlier. */
  private readonly early: number[] = []

  /** `range`: features of one block. */
  constructor(range: number) {
    super(new LinearServingFunction(range, true), rawKeySerializer, false)
  }

  override open(context: OperatorContext): void | Promise<void> {
    const opened = super.open(context)
    const report: GateReport = { kind: 'gate-opened' }
    context.sendEvent(report)
    return opened
  }

  override handleEvent(event: unknown): void {
    const order = event as GateOrder
    if (order.kind !== 'let-through') return
    const folds = new StepFolds(order.inFlight)
    this.folds = folds
    for (const ticket of this.early.splice(0)) folds.folded(ticket)
  }

  override processElement(input: number, value: unknown, timestamp: number): void {
    super.processElement(input, value, timestamp)
    const update = value as WeightUpdate
    if (update.kind !== 'step' || update.ticket === 0) return
    if (this.folds === undefined) this.early.push(update.ticket)
    else this.folds.folded(update.ticket)
  }
}
