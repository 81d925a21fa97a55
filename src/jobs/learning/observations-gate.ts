import type { OperatorContext } from '../../operators/port/operator.ts'
import { LearningGate } from './gate.ts'
import type { GateOrder } from './messages.ts'
import { ResumeOffsets } from './resume-offsets.ts'

/** Operator state with the entries of `ResumeOffsets.snapshot`. */
export const LEARNING_PLACES = 'learning-places'

/**
 * A gate that reads observations. A version that goes live resumes in each partition where its training,
 * or its learning before, ended.
 */
export abstract class ObservationsGate extends LearningGate {
  /** Undefined where no source is in the operator's chain. */
  protected resumeOffsets: ResumeOffsets | undefined

  override open(context: OperatorContext): void {
    super.open(context)
    const { source, operatorState } = context
    if (source === undefined) return
    source.appliesTo(undefined)
    this.resumeOffsets = new ResumeOffsets(source, operatorState.restored(LEARNING_PLACES))
  }

  protected override letThrough({ version, resumeOffsets }: GateOrder): void {
    this.resumeOffsets?.switchTo(version, resumeOffsets)
    this.context.source?.appliesTo(version)
  }

  override prepareSnapshot(): void {
    if (this.resumeOffsets === undefined) return
    this.context.operatorState.update(LEARNING_PLACES, 'union', this.resumeOffsets.snapshot())
  }
}
