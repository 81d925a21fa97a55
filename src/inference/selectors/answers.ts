import { WeirError } from '../../core/errors.ts'
import { allFinite } from '../../core/numbers/all-finite.ts'
import type { ArmOutput, Combined, ObservedChoice, Selection } from './selector.ts'

/** How far a sum of probabilities may be from 1. */
const SUM_SLACK = 1e-3

/** The class that scores say: the first largest one, or for a single score 1 from 0.5 on and 0 below. */
export function classOf(scores: Float32Array): number {
  if (scores.length === 1) return scores[0]! >= 0.5 ? 1 : 0
  let best = 0
  for (let i = 1; i < scores.length; i++) if (scores[i]! > scores[best]!) best = i
  return best
}

/** The probability of the class that scores say; undefined where they are no probabilities. */
export function certaintyOf(scores: Float32Array): number | undefined {
  if (!scores.every((score) => score >= 0 && score <= 1)) return undefined
  if (scores.length === 1) return Math.max(scores[0]!, 1 - scores[0]!)
  const sum = scores.reduce((a, b) => a + b, 0)
  return Math.abs(sum - 1) > SUM_SLACK ? undefined : Math.max(...scores)
}

/**
 * Throws unless there are outputs, each of an arm that there is and with finite scores, as many as the others
 * (`ILLEGAL_STATE`, `INVALID_ARGUMENT`, `NOT_FINITE`, `DIMENSION_MISMATCH`).
 */
export function requireOutputs(
  selector: string,
  arms: number,
  outputs: readonly ArmOutput[],
): asserts outputs is readonly [ArmOutput, ...ArmOutput[]] {
  const length = outputs[0]?.scores.length
  if (length === undefined) {
    throw new WeirError(
      'ILLEGAL_STATE',
      `the selector ${selector} has no output to combine: answer with the default`,
    )
  }
  for (const { arm, scores } of outputs) {
    if (!Number.isInteger(arm) || arm < 0 || arm >= arms) {
      throw new WeirError(
        'INVALID_ARGUMENT',
        `the selector ${selector} has arms 0 to ${arms - 1}, and an output is of arm ${arm}`,
      )
    }
    if (scores.length !== length || length === 0) {
      throw new WeirError(
        'DIMENSION_MISMATCH',
        `arm ${arm} of the selector ${selector} answered ${scores.length} scores and arm ${outputs[0]?.arm} ${length}: arms of one selector have one output`,
      )
    }
    if (!allFinite(scores)) {
      throw new WeirError(
        'NOT_FINITE',
        `arm ${arm} of the selector ${selector} answered a score that is not finite: treat it as missing`,
      )
    }
  }
}

/** The output of the one arm that was chosen. Throws ILLEGAL_STATE where it is missing. */
export function onlyAnswer(
  selector: string,
  selection: Selection,
  outputs: readonly ArmOutput[],
): Combined {
  requireOutputs(selector, selection.probabilities.length, outputs)
  const chosen = outputs.find(({ arm }) => arm === selection.run[0])
  if (chosen === undefined) {
    throw new WeirError(
      'ILLEGAL_STATE',
      `arm ${selection.run[0]} of the selector ${selector} was chosen and has not answered: answer with the default`,
    )
  }
  return oneAnswer(chosen)
}

/** The answer that is the output of one arm: its own certainty, 1 where it gives none, and 0 for a mean. */
export function oneAnswer({ arm, scores, isMean }: ArmOutput): Combined {
  return { scores, arm, confidence: isMean === true ? 0 : (certaintyOf(scores) ?? 1) }
}

/** The mean of scores by weight; each counts the same where all weights are 0. */
export function meanScores(
  outputs: readonly [ArmOutput, ...ArmOutput[]],
  weightOf: (arm: number) => number,
): Float32Array {
  const total = outputs.reduce((sum, { arm }) => sum + weightOf(arm), 0)
  const mean = new Float64Array(outputs[0].scores.length)
  for (const { arm, scores } of outputs) {
    const weight = total > 0 ? weightOf(arm) / total : 1 / outputs.length
    for (const [i, score] of scores.entries()) mean[i] = mean[i]! + weight * score
  }
  return Float32Array.from(mean)
}

/**
 * Share of the arms that were selected whose own output says the class of the answer (Clipper, NSDI 2017, section 5.2:
 * arms that are late lower it).
 */
export function agreeingShare(
  selection: Selection,
  outputs: readonly ArmOutput[],
  answer: number,
): number {
  const agreeing = outputs.filter(
    ({ arm, scores, isMean }) =>
      isMean !== true && selection.run.includes(arm) && classOf(scores) === answer,
  )
  return agreeing.length / selection.run.length
}

/** The output of the arm that was chosen alone, if it came; undefined where the answer was another one. */
export function answeredArm({ selection, outputs }: ObservedChoice): number | undefined {
  const chosen = selection.run[0]
  return outputs.some(({ arm, isMean }) => arm === chosen && isMean !== true) ? chosen : undefined
}

/**
 * Reward of each arm that has an output of its own. By the label where there is one: 1 for the true class, else 0.
 * Without a label an arm that agrees with the answer gets its reward, and one that does not what the answer missed
 * (1 - reward): this is exact for two classes, and for more it gives the benefit of the doubt.
 */
export function rewardsOfArms(
  { outputs, reward, label }: ObservedChoice,
  answer: number,
): readonly (readonly [arm: number, reward: number])[] {
  const own = outputs.filter(({ isMean }) => isMean !== true)
  if (label === undefined) {
    return own.map(({ arm, scores }) => [arm, classOf(scores) === answer ? reward : 1 - reward])
  }
  const classes = Math.max(2, outputs[0]?.scores.length ?? 2)
  if (!Number.isInteger(label) || label < 0 || label >= classes) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the label ${label} is no class from 0 to ${classes - 1} of the arms' outputs`,
    )
  }
  return own.map(({ arm, scores }) => [arm, classOf(scores) === label ? 1 : 0])
}
