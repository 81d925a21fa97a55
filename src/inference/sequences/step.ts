import { requireArgument, WeirError } from '../../core/errors.ts'

/** A state of a sequence: that after so many answers since this beginning of it. */
export interface SequenceStep {
  /** Answers since the beginning, from 1. */
  readonly step: number
  /** 12 hexadecimal digits that another beginning under the same id does not have. */
  readonly beginning: string
}

/** Why a request does not follow the state that is stored; undefined where it does. */
export type OutOfStep =
  /** Later answers may be lost, and the request does not say which one it follows. */
  | 'unnamed'
  /** The answer that it follows is lost. */
  | 'behind'
  /** It was answered already, or repeats one that was. */
  | 'answered'
  /** It follows an answer of another beginning of the sequence. */
  | 'other-beginning'

/** A step as clients get it with each answer, and give it back: `5-0f9a3c52b7d1`. */
export const stepText = ({ step, beginning }: SequenceStep): string => `${step}-${beginning}`

/** Reads what `stepText` writes. Throws INVALID_ARGUMENT. */
export function readStep(text: string): SequenceStep {
  const [, step, beginning] = /^([1-9][0-9]{0,14})-([0-9a-f]{12})$/.exec(text) ?? []
  requireArgument(
    step !== undefined && beginning !== undefined,
    'the parameter sequence_after is the sequence_step of the answer that the request follows, such as "5-0f9a3c52b7d1"',
  )
  return { step: Number(step), beginning }
}

/**
 * Decides whether a request may run with the state that is stored. `isWhole`: no later answer can be lost. `after`: the
 * answer that the request follows, where it says so.
 */
export function decideStep(
  stored: SequenceStep & { readonly isWhole: boolean },
  after: SequenceStep | undefined,
): OutOfStep | undefined {
  if (after === undefined) return stored.isWhole ? undefined : 'unnamed'
  if (after.beginning !== stored.beginning) return 'other-beginning'
  if (after.step === stored.step) return undefined
  return after.step > stored.step ? 'behind' : 'answered'
}

/** The error of a request that does not follow the stored state; its details have the step that is stored. */
export function outOfStep(
  id: string,
  stored: SequenceStep,
  { why, after }: { readonly why: OutOfStep; readonly after: SequenceStep | undefined },
): WeirError {
  const { step } = stored
  const sentences: Readonly<Record<OutOfStep, string>> = {
    unnamed: `was restored at step ${step}, and answers after it may be lost; name the answer that the request follows with sequence_after`,
    behind: `is at step ${step}, and the request follows step ${after?.step}, which is lost; send what came after step ${step} again`,
    answered: `is at step ${step}, and the request follows step ${after?.step}: it was answered before`,
    'other-beginning': `has begun again: what is stored is step ${step} of another beginning`,
  }
  const message = `sequence "${id.slice(0, 40)}" ${sentences[why]}, or begin it again, with sequence_start`
  return new WeirError('SEQUENCE_OUT_OF_STEP', message, {
    details: { step, sequenceStep: stepText(stored), why },
  })
}
