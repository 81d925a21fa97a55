import { AbstractOperator } from '../operators/abstract-operator.ts'
import type { OperatorContext } from '../operators/operator.ts'
import type { GateOrder, GateReport } from './online-coordinator.ts'

/** An operator that takes no input until the learners know a version. */
export abstract class GatedByLearning extends AbstractOperator {
  private isOpen = false
  private waiting: (() => void)[] = []

  override open(context: OperatorContext): void {
    super.open(context)
    const report: GateReport = { kind: 'gate-opened' }
    context.sendEvent(report)
  }

  override handleEvent(event: unknown): void {
    if ((event as GateOrder).kind !== 'let-through') return
    this.isOpen = true
    for (const resolve of this.waiting.splice(0)) resolve()
  }

  ready(): boolean {
    return this.isOpen
  }

  whenReady(): Promise<void> {
    if (this.isOpen) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push(resolve))
  }
}
