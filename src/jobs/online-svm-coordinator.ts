import type {
  OperatorCoordinator,
  OperatorCoordinatorContext,
} from '../runtime/operator-coordinator.ts'

/** Reader of observations to coordinator: it waits for a version. */
export interface SvmLearningReport {
  readonly kind: 'opened'
}

/** The answer, and again when another version is live. */
export interface SvmLearningOrder {
  readonly kind: 'learn'
  readonly version: number
}

/** Tells the readers of observations which version is live, in every attempt of the job anew. */
export class SvmLearningCoordinator implements OperatorCoordinator {
  private context: OperatorCoordinatorContext | undefined
  private version = 0

  start(context: OperatorCoordinatorContext): void {
    this.context = context
  }

  handleEvent(subtask: number, _event: unknown): void {
    if (this.version > 0) this.context?.sendEvent(subtask, this.order())
  }

  /** A version is live. */
  live(version: number): void {
    this.version = version
    this.context?.sendEvent(undefined, this.order())
  }

  private order(): SvmLearningOrder {
    return { kind: 'learn', version: this.version }
  }
}
