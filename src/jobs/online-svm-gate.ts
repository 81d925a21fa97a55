import { AbstractOperator } from '../operators/abstract-operator.ts'
import type { OperatorContext } from '../operators/operator.ts'
import { LearningFlow } from './online-flow.ts'
import type { SvmLearningOrder, SvmLearningReport } from './online-svm-coordinator.ts'

/** An operator that takes no input until every slot has all weights of the live version. */
export abstract class GatedBySvm extends AbstractOperator {
  /** The live version; 0 before it is known. */
  protected version = 0
  protected flow: LearningFlow | undefined
  private waiting: (() => void)[] = []

  override open(context: OperatorContext): void {
    super.open(context)
    const report: SvmLearningReport = { kind: 'opened' }
    context.sendEvent(report)
  }

  override handleEvent(event: unknown): void {
    const order = event as SvmLearningOrder
    this.version = order.version
    this.flow = new LearningFlow(order.flow)
    for (const resolve of this.waiting.splice(0)) resolve()
  }

  ready(): boolean {
    return this.version > 0
  }

  whenReady(): Promise<void> {
    if (this.version > 0) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push(resolve))
  }
}
