import { RunningMean } from '../../quality/intervals.ts'
import {
  type GroupEvidence,
  MIN_GOLDEN_RATINGS,
  varianceOf,
  varianceWithin,
  type WorstGroup,
  worstGroup,
} from './worst-group.ts'

/** A golden rating that the candidate was not trained on, as two versions predict it. */
export interface PredictedPair {
  readonly rating: number
  readonly candidate: number
  readonly live: number
}

/** Shift of the mean prediction of an item, or user, from which it has moved, as a share of the range of ratings. */
const SMALLEST_MOVE = 0.05

/** What the golden ratings of a group say about its predictions. */
interface GroupSums {
  /** Candidate minus live. */
  readonly move: RunningMean
  /** Rating minus candidate. */
  readonly missed: RunningMean
  /** Squared error of the candidate minus that of live. */
  readonly rise: RunningMean
}

/**
 * The group (item or user) whose predictions have moved away from its golden ratings for certain; undefined where none has
 * moved. `width`: of the range of ratings, above 0.
 *
 * Only groups whose mean prediction has moved are tested, worst first. The move is known without golden ratings, so choosing
 * by it does not spoil the test. Of such a group it asks whether the candidate has gone beyond the ratings, in the direction
 * of the move, and has a larger error than live: where live was wrong, moving is right. No more than the move is held against
 * it: where both are wrong, the rest was there before.
 */
export function worstMoved(
  groups: ReadonlyMap<string, readonly PredictedPair[]>,
  width: number,
): WorstGroup | undefined {
  const enough = [...groups]
    .filter(([, pairs]) => pairs.length >= MIN_GOLDEN_RATINGS)
    .map(([group, pairs]) => ({ group, sums: sumsOf(pairs) }))
  const within = varianceWithin(enough.map(({ sums }) => sums.missed))
  const moved = enough.filter(({ sums }) => Math.abs(sums.move.value) >= SMALLEST_MOVE * width)
  const evidence = moved.map(({ group, sums }) => evidenceOf(group, sums, within))
  return worstGroup(evidence, width)
}

function sumsOf(pairs: readonly PredictedPair[]): GroupSums {
  const [move, missed, rise] = [new RunningMean(), new RunningMean(), new RunningMean()]
  for (const { rating, candidate, live } of pairs) {
    move.add(candidate - live)
    missed.add(rating - candidate)
    rise.add((rating - candidate) ** 2 - (rating - live) ** 2)
  }
  return { move, missed, rise }
}

function evidenceOf(
  group: string,
  { move, missed, rise }: GroupSums,
  within: number,
): GroupEvidence {
  const beyond = -Math.sign(move.value) * missed.value
  const standardError = Math.sqrt(varianceOf(missed, within) / missed.size)
  return { group, off: rise.value > 0 ? beyond : 0, standardError, most: Math.abs(move.value) }
}
