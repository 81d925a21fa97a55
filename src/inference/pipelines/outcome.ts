import type { Tensor } from '../port/tensor.ts'
import type { StepChoice } from './decisions.ts'
import type { Scores } from './scores.ts'

/** What a step of one request gave. */
export interface Outcome {
  readonly outputs: readonly Tensor[]
  /** The output with the scores; undefined where the step has none. */
  readonly scored: Tensor | undefined
  /** What it holds. */
  readonly scores: Scores | undefined
  /** Trust in the outputs, 0 to 1. Throws MODEL_FAILED where the scores are no probabilities. */
  readonly confidence: () => number
  /** Name and probability of the arm that answered, of a step that chose one. */
  readonly arm?: { readonly name: string; readonly probability: number } | undefined
  /** The choices that made the outputs. */
  readonly choices: readonly StepChoice[]
}
