import { AbstractOperator } from '../operators/abstract-operator.ts'
import type { OperatorContext } from '../operators/operator.ts'
import type { GateOrder, GateReport } from './online-coordinator.ts'
import { LearningFlow } from './online-flow.ts'

/** An operator that takes no input until the learners know a version. */
export abstract class GatedByLearning extends AbstractOperator {
  protected flow: LearningFlow | undefined
  private waiting: (() => void)[] = []
  private isOpen = false

  override open(context: OperatorContext): void {
    super.open(context)
    this.isOpen = true
    const report: GateReport = { kind: 'gate-opened' }
    context.sendEvent(report)
  }

  override handleEvent(event: unknown): void {
    const order = event as GateOrder
    // What comes before it is open comes again: the coordinator answers every gate that opens.
    if (order.kind !== 'let-through' || !this.isOpen) return
    this.letThrough(order)
    this.flow = new LearningFlow(order.flow)
    for (const resolve of this.waiting.splice(0)) resolve()
  }

  /** Ratings are learned on the order's version from here on. */
  protected letThrough(_order: GateOrder): void {}

  ready(): boolean {
    return this.flow !== undefined
  }

  whenReady(): Promise<void> {
    if (this.flow !== undefined) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push(resolve))
  }
}
