import type { OperatorContext } from '../../../operators/port/operator.ts'
import type { OutputTag } from '../../../operators/port/output-tag.ts'
import type { SlotPart } from './learning-error.ts'

/** Time between two reports of a slot, ms. */
export const REPORT_MS = 1000

/** Sends a slot's part of the error of each version to `LearningErrorFunction`. */
export class SlotReports<P extends SlotPart> {
  private readonly context: OperatorContext
  private readonly tag: OutputTag<P>
  /** What `send` was given with the last report of this attempt, by version. */
  private readonly reported = new Map<number, number>()

  constructor(context: OperatorContext, tag: OutputTag<P>) {
    this.context = context
    this.tag = tag
  }

  /**
   * Sends the part of a version where it has changed, and once in each attempt: it replaces that of the slots before,
   * also where nothing more is learned. `count`: grows with each change, such as the predictions so far.
   */
  send(version: number, count: number, figures: () => Omit<P, keyof SlotPart>): void {
    if (count === (this.reported.get(version) ?? 0)) return
    this.reported.set(version, count)
    const { subtask: slot, parallelism, output } = this.context
    output.collectSide(this.tag.id, { version, slot, parallelism, ...figures() }, -1)
  }
}
