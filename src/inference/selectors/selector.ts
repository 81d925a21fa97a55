import type { Random } from '../../core/random.ts'

/**
 * State of a selector for one context: a row of float32 of a length that the selector and the number of arms decide,
 * so that it fits a row table. Functions of a selector never write into the row that they are given.
 */
export type SelectorState = Float32Array

/** What a choice knows when it is made. */
export interface SelectionFacts {
  /** Names of the arms, in the order of the numbers that stand for them. */
  readonly arms: readonly string[]
  readonly random: Random
  /** Whose choice this is: a user, a tenant, or `*`. */
  readonly context: string
  /** Features of the request, for selectors that learn from them. */
  readonly features?: Float32Array
}

/** What was chosen: numbers of arms, and how probable each was. */
export interface Selection {
  /** Arms that run and may answer: at once, or one after the other where the selector has `enough`. */
  readonly run: readonly number[]
  /** Arms that run beside them, and whose outputs answer no request. */
  readonly mirrors: readonly number[]
  /**
   * Probability, at the moment of the choice, that an arm answers, one number for each arm. It sums to 1. A selector
   * that combines all its arms puts the share that each has in the answer here.
   */
  readonly probabilities: Float32Array
  /** Whether the arm was drawn uniformly, without regard to what was learned: the validation pool. */
  readonly explored: boolean
}

/** Output of one arm. Arms that have not answered in time are missing in a list of outputs, or stand for their mean. */
export interface ArmOutput {
  readonly arm: number
  readonly scores: Float32Array
  /** Whether the scores are the running mean of the arm, since it is late: they count in no agreement and teach nothing. */
  readonly isMean?: boolean
}

/** One answer out of the outputs of arms. */
export interface Combined {
  readonly scores: Float32Array
  /** Arm whose output this is, unless several made it. */
  readonly arm: number | undefined
  /** Trust in the answer, 0 to 1. Arms that were selected and are missing lower it. */
  readonly confidence: number
}

/** A choice of which it is now known how good it was. */
export interface ObservedChoice {
  readonly arms: readonly string[]
  readonly selection: Selection
  readonly outputs: readonly ArmOutput[]
  /** How good the answer was, 0 to 1. */
  readonly reward: number
  /** The true class, by which each output is judged by itself. */
  readonly label?: number
  /** Features of the request, as they were at the choice. */
  readonly features?: Float32Array
}

/**
 * A rule that chooses among models and learns from rewards: pure functions over a row of state (select, combine and
 * observe are Clipper's, NSDI 2017, section 5). All refuse a row of another length (`DIMENSION_MISMATCH`) and numbers
 * that are not finite (`NOT_FINITE`).
 */
export interface Selector {
  readonly name: string
  /** State of a context of which nothing is known. */
  init(arms: number): SelectorState
  select(state: SelectorState, facts: SelectionFacts): Selection
  /** The answer of the outputs that came in time; at least one is there. */
  combine(state: SelectorState, selection: Selection, outputs: readonly ArmOutput[]): Combined
  /** State after a reward. Probabilities are those of the choice, however late the reward comes. */
  observe(state: SelectorState, choice: ObservedChoice): SelectorState
  /**
   * State after arms came or went, by name: arms of both lists keep what is known of them, one that comes has a fair
   * chance, of one that goes nothing stays. Absent: the state begins again.
   */
  resize?(state: SelectorState, before: readonly string[], after: readonly string[]): SelectorState
  /** Whether the last output is good enough to run no further arm. Where it is there, arms run one after the other. */
  enough?(state: SelectorState, selection: Selection, outputs: readonly ArmOutput[]): boolean
}
