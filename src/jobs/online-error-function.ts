import type { KeyedFunctionContext, KeyedProcessFunction } from '../operators/process-function.ts'
import { valueState } from '../state/descriptors.ts'
import type { ValueState } from '../state/handles.ts'
import type { LearningErrorPart } from './online-records.ts'

/** Name under which clients query how far off a version's live predictions are; key: the version. */
export const LEARNING_ERROR_STATE = 'LEARNING_ERROR'

/** Prequential error of one version over all slots. */
export interface LearningError {
  readonly version: number
  /** Ratings predicted and then learned. */
  readonly ratings: number
  /** Mean squared error over all of them, over the last ones, and with fading. */
  readonly mse: number
  readonly windowMse: number
  readonly fadedMse: number
  /** Share whose user and item both had a row. */
  readonly coverage: number
  readonly slots: readonly LearningErrorPart[]
}

/** Puts the slots' errors of a version together, weighed by their ratings. */
export class LearningErrorFunction
  implements KeyedProcessFunction<string, LearningErrorPart, LearningError>
{
  private error!: ValueState<LearningError>

  open(context: KeyedFunctionContext): void {
    this.error = context.getState(
      valueState<LearningError>('learning-error', { queryableName: LEARNING_ERROR_STATE }),
    )
  }

  processElement(part: LearningErrorPart): void {
    const others = (this.error.value()?.slots ?? []).filter(({ slot }) => slot !== part.slot)
    this.error.update(joined([...others, part]))
  }
}

/** The error over several slots. */
export function joined(slots: readonly LearningErrorPart[]): LearningError {
  const ratings = slots.reduce((sum, part) => sum + part.ratings, 0)
  const weighed = (value: (part: LearningErrorPart) => number): number =>
    slots.reduce((sum, part) => sum + value(part) * part.ratings, 0) / ratings
  return {
    version: slots[0]!.version,
    ratings,
    mse: weighed((part) => part.mse),
    windowMse: weighed((part) => part.windowMse),
    fadedMse: weighed((part) => part.fadedMse),
    coverage: weighed((part) => part.coverage),
    slots,
  }
}
