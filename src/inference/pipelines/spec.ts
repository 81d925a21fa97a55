/** Input of a model step that is the output of another step. */
export interface StepOutput {
  readonly step: string
  readonly output: string
}

/** One of the arms of a step: a name for people and selectors, and the step that runs. */
export interface Arm {
  readonly name: string
  readonly step: string
}

/** A step that runs a model, as `NAME`, `NAME@ALIAS` or `NAME@VERSION`. */
export interface ModelStep {
  readonly kind: 'model'
  readonly model: string
  /** Inputs that are outputs of other steps, by their name; the others are those of the request. */
  readonly inputs: Readonly<Record<string, StepOutput>>
}

/** A step in which a selector chooses among arms. */
export interface SelectStep {
  readonly kind: 'select'
  /** Name of the selector. */
  readonly by: string
  readonly arms: readonly Arm[]
  /** Parameters of the selector, as the file has them. */
  readonly parameters: Readonly<Record<string, unknown>>
}

/** A step that runs another one, and a second one where the first is not sure. */
export interface BranchStep {
  readonly kind: 'branch'
  readonly of: string
  /** `next` runs where the confidence of `of` is below this, 0 to 1. */
  readonly below: number
  readonly next: string
}

/** A step that runs all its arms and makes one answer of them. */
export interface CombineStep {
  readonly kind: 'combine'
  /** `votes`: the class that most arms score highest. `mean`: the mean of the scores. */
  readonly how: 'votes' | 'mean'
  readonly arms: readonly Arm[]
}

/** A step of a pipeline. */
export type Step = ModelStep | SelectStep | BranchStep | CombineStep

/** A pipeline as its file has it: steps by name, those that stand for a model by the reference. */
export interface PipelineSpec {
  readonly steps: ReadonlyMap<string, Step>
  /** The step whose outputs are the answer. */
  readonly answer: string
  /** Name of the output with the scores; undefined where models have one output of numbers. */
  readonly scores: string | undefined
  /** The default answers where the confidence is below; 0 for never. */
  readonly minConfidence: number
  /** Range of rewards. */
  readonly reward: { readonly least: number; readonly most: number }
  /** Topic that gets each decision; undefined for none. */
  readonly topic: string | undefined
  /** Time in which a decision takes a reward, ms. */
  readonly ttlMs: number
  /** Most contexts that have a state of their own; those that were asked longest ago fall back to `*`. */
  readonly contexts: number
}

/** Names of the steps that a step needs, in the order of the file. */
export function needsOf(step: Step): readonly string[] {
  switch (step.kind) {
    case 'model':
      return Object.values(step.inputs).map((input) => input.step)
    case 'branch':
      return [step.of, step.next]
    default:
      return step.arms.map((arm) => arm.step)
  }
}
