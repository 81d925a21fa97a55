import { joinedAlarms, NO_ALARMS } from '../../../models/quality/drift-monitor.ts'
import type {
  KeyedFunctionContext,
  KeyedProcessFunction,
} from '../../../operators/process/function.ts'
import { valueState } from '../../../state/port/descriptors.ts'
import type { ValueState } from '../../../state/port/handles.ts'
import type { LearningErrorFigures, LearningErrorPart } from './records.ts'

/** Name under which clients query the error of a version's live predictions; key: the version. */
export const LEARNING_ERROR_STATE = 'LEARNING_ERROR'

/** Prequential error of one version over all slots. */
export interface LearningError extends LearningErrorFigures {
  readonly slots: readonly LearningErrorPart[]
}

/**
 * Joins the errors of a version from all slots, weighed by their ratings. The parts of another parallelism are dropped: the
 * slots of now have taken over their sums.
 */
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
    const others = (this.error.value()?.slots ?? []).filter(
      ({ slot, parallelism }) => slot !== part.slot && parallelism === part.parallelism,
    )
    this.error.update(joined([...others, part]))
  }
}

/** The error over several slots. */
export function joined(slots: readonly LearningErrorPart[]): LearningError {
  const ratings = slots.reduce((sum, part) => sum + part.ratings, 0)
  const weighed = (value: (part: LearningErrorPart) => number): number =>
    // The error of a slot without ratings is NaN.
    slots.reduce((sum, part) => sum + (part.ratings === 0 ? 0 : value(part) * part.ratings), 0) /
    ratings
  return {
    version: slots[0]!.version,
    ratings,
    mse: weighed((part) => part.mse),
    windowMse: weighed((part) => part.windowMse),
    fadedMse: weighed((part) => part.fadedMse),
    coverage: weighed((part) => part.coverage),
    startMse: weighedMean(
      slots,
      (part) => part.startMse,
      (part) => part.ratings,
    ),
    frozenMse: weighedMean(
      slots,
      (part) => part.frozenMse,
      (part) => part.frozenRatings,
    ),
    alarms: joinedAlarms(slots.map((part) => part.alarms ?? NO_ALARMS)),
    slots,
  }
}

/** Mean over the slots that know the value; NaN if none does. */
function weighedMean(
  slots: readonly LearningErrorPart[],
  value: (part: LearningErrorPart) => number,
  weight: (part: LearningErrorPart) => number,
): number {
  // A part of a checkpoint of before these figures lacks them.
  const known = slots.filter((part) => Number.isFinite(value(part)))
  const total = known.reduce((sum, part) => sum + weight(part), 0)
  return known.reduce((sum, part) => sum + value(part) * weight(part), 0) / total
}
