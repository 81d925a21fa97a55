import type {
  KeyedFunctionContext,
  KeyedProcessFunction,
} from '../../../operators/process/function.ts'
import { valueState } from '../../../state/port/descriptors.ts'
import type { ValueState } from '../../../state/port/handles.ts'

/** Name under which clients query the error of a version's live predictions; key: the version. */
export const LEARNING_ERROR_STATE = 'LEARNING_ERROR'

/** One slot's part of the error of a version. */
export interface SlotPart {
  readonly version: number
  readonly slot: number
  /** Slots of the job when it was reported; undefined in parts of an earlier build. */
  readonly parallelism?: number
}

/** The error of a version over all slots. */
export interface JoinedError<P extends SlotPart> {
  readonly slots: readonly P[]
}

/**
 * Joins the errors of a version from all slots. The parts of another parallelism are dropped: the slots of now have
 * taken over their sums.
 */
export class LearningErrorFunction<P extends SlotPart, E extends JoinedError<P>>
  implements KeyedProcessFunction<string, P, E>
{
  private readonly joined: (slots: readonly P[]) => E
  private error!: ValueState<E>

  constructor(joined: (slots: readonly P[]) => E) {
    this.joined = joined
  }

  open(context: KeyedFunctionContext): void {
    this.error = context.getState(
      valueState<E>('learning-error', { queryableName: LEARNING_ERROR_STATE }),
    )
  }

  processElement(part: P): void {
    const others = (this.error.value()?.slots ?? []).filter(
      ({ slot, parallelism }) => slot !== part.slot && parallelism === part.parallelism,
    )
    this.error.update(this.joined([...others, part]))
  }
}

/** Mean over the slots that know the value, each with its weight; NaN if none does. */
export function weighedMean<P extends SlotPart>(
  slots: readonly P[],
  value: (part: P) => number | undefined,
  weight: (part: P) => number,
): number {
  let [sum, total] = [0, 0]
  for (const part of slots) {
    // A part of a checkpoint of before a figure lacks it, and that of a slot without ratings is NaN.
    const known = value(part) ?? Number.NaN
    if (!Number.isFinite(known)) continue
    sum += known * weight(part)
    total += weight(part)
  }
  return sum / total
}
