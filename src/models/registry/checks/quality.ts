import { type CohortErrors, cohortMeasures } from './cohorts.ts'
import { atLeast, atMost, type CheckMeasure } from './measure.ts'
import type { WorstGroup } from './worst-group.ts'

/** Errors on the golden set: the same pairs for every predictor. */
export interface QualityFacts {
  /** Those that the candidate was not trained on. */
  readonly pairs: number
  readonly candidateRmse: number
  /** Undefined while no version is live. */
  readonly liveRmse: number | undefined
  /** Error of predicting the mean rating for every pair. */
  readonly meanRmse: number
  /** The comparison with the best version that was ever promoted; undefined if there is none. */
  readonly best?: BestFacts | undefined
  /** Undefined while no version is live. */
  readonly lists?: ListFacts | undefined
  /** Undefined while no version is live. */
  readonly moved?: MovedFacts | undefined
  /** Groups of users, worst first (`cohortErrors`); none while no version is live. */
  readonly cohorts?: readonly CohortErrors[]
}

/**
 * The item, and the user, whose predictions have moved away from its golden ratings the most, `certain` as a share of the
 * range of ratings (`worstMoved`); undefined where no predictions have moved.
 */
export interface MovedFacts {
  readonly item: WorstGroup | undefined
  readonly user: WorstGroup | undefined
}

/** A candidate against the best version ever promoted, on the same golden pairs. */
export interface BestFacts {
  readonly number: number
  /** Mean squared error of the best version. */
  readonly mse: number
  /** The candidate's mean squared error minus that of the best is above it with 95 % probability. */
  readonly differenceLow: number
}

/** Top lists of a candidate against those of the live version. */
export interface ListFacts {
  /** Users whose lists were compared. */
  readonly users: number
  /** Mean share of a user's list that is in both. */
  readonly overlap: number
  /** Largest growth of the share of lists that have one item, of items that golden ratings do not support. */
  readonly rise: number
  /** That item; undefined if none has risen. */
  readonly risenItem?: string
  /** Largest fall of the share of lists that have one item, of items whose golden ratings are above its predictions. */
  readonly fall: number
  /** That item; undefined if none has fallen. */
  readonly fallenItem?: string
}

/** Bounds of the quality check. */
export interface QualityLimits {
  /**
   * Maximum by which the candidate's RMSE, or mean loss, may exceed the live one, as a share of the live one. @default
   * 0.01
   */
  readonly tolerance?: number
  /** Minimum pairs or examples of the golden set. @default 100 */
  readonly minPairs?: number
  /**
   * Maximum certain loss against the best version ever promoted: low end of the paired interval, as a
   * share of the best mean squared error, or mean loss. @default 0
   */
  readonly maxCertainLoss?: number
  /** Minimum mean overlap of the top lists with those of the live version. @default 0.1 */
  readonly minOverlap?: number
  /**
   * Maximum growth of the share of top lists that have one item, and maximum fall. An item whose golden ratings are about
   * as high as its predictions may grow, and one whose golden ratings are not above them may fall. @default 0.5
   */
  readonly maxItemRise?: number
  /**
   * Maximum certain distance of the mean prediction of one item, or one user, beyond its golden ratings, where it has moved
   * away from them, as a share of the range of ratings. @default 0.05
   */
  readonly maxMovedError?: number
  /**
   * Maximum certain rise of the mean squared error of a group of users over that of the live version, as a share of the
   * live one; of implicit feedback the fall of NDCG, as a share of its NDCG. @default 0.02
   */
  readonly maxCohortRise?: number
  /** Linear models: minimum share of golden examples with the label that the live version predicts. @default 0.5 */
  readonly minAgreement?: number
}

/**
 * The quality check of an ALS model: better than the mean rating, worse than live by at most the tolerance, not certainly
 * worse than the best version ever promoted (so that many small losses cannot add up), with lists like
 * those of the live version, with no item or user whose predictions have moved away from its golden ratings, and with no
 * group of users for whom it is certainly worse than live.
 */
export function qualityMeasures(
  facts: QualityFacts,
  limits: QualityLimits = {},
): readonly CheckMeasure[] {
  const tolerance = limits.tolerance ?? 0.01
  return [
    atLeast('golden pairs outside the training data', facts.pairs, limits.minPairs ?? 100),
    atMost('RMSE against the mean rating', facts.candidateRmse, facts.meanRmse),
    ...(facts.liveRmse === undefined
      ? []
      : [atMost('RMSE against live', facts.candidateRmse, facts.liveRmse * (1 + tolerance))]),
    ...(facts.best === undefined ? [] : [bestMeasure(facts.best, limits)]),
    ...(facts.lists === undefined ? [] : listMeasures(facts.lists, limits)),
    ...(facts.moved === undefined ? [] : movedMeasures(facts.moved, limits)),
    ...cohortMeasures(facts.cohorts ?? [], limits.maxCohortRise),
  ]
}

/** Lists of a candidate of implicit feedback, for the users of the golden set. */
export interface RankingFacts {
  /** Length of the lists. */
  readonly k: number
  /** Those with golden events that no compared version was trained on. */
  readonly users: number
  /** Low end of the 95 % interval of the fall of NDCG from one list for all users, that of the mean row, to their own. */
  readonly fallBelowOneList: number
  /** Undefined while no version is live. */
  readonly live?:
    | {
        readonly ndcg: number
        /** Low end of the 95 % interval of the fall of NDCG from live to the candidate, on the same users. */
        readonly fallLow: number
      }
    | undefined
  /** The comparison with the best version that was ever promoted; undefined if there is none. */
  readonly best?:
    | { readonly number: number; readonly error: number; readonly fallLow: number }
    | undefined
  readonly lists?: ListFacts | undefined
  /** Groups of users, worst first (`cohortErrors`); none while no version is live. */
  readonly cohorts?: readonly CohortErrors[]
}

/**
 * The quality check of a model of implicit feedback, whose scores only rank: not certainly worse than one list for all
 * users, nor than live by more than the tolerance, not certainly worse than the best version ever promoted, with lists like
 * those of the live version, and with no group of users for whom it is certainly worse than live.
 */
export function rankingMeasures(
  facts: RankingFacts,
  limits: QualityLimits = {},
): readonly CheckMeasure[] {
  const { k, users, fallBelowOneList, live, best, lists, cohorts = [] } = facts
  return [
    atLeast('golden users with events outside the training data', users, limits.minPairs ?? 100),
    atMost(`certain fall of NDCG@${k} against one list for all`, Math.max(0, fallBelowOneList), 0),
    ...(live === undefined
      ? []
      : [
          atMost(
            `certain fall of NDCG@${k} against live`,
            Math.max(0, live.fallLow),
            live.ndcg * (limits.tolerance ?? 0.01),
          ),
        ]),
    ...(best === undefined
      ? []
      : [
          atMost(
            `certain fall of NDCG@${k} against version ${best.number}, the best`,
            Math.max(0, best.fallLow),
            best.error * (limits.maxCertainLoss ?? 0),
          ),
        ]),
    ...(lists === undefined ? [] : listMeasures(lists, limits)),
    ...cohortMeasures(cohorts, limits.maxCohortRise),
  ]
}

function bestMeasure(best: BestFacts, limits: QualityLimits): CheckMeasure {
  const bound = best.mse * (limits.maxCertainLoss ?? 0)
  const name = `certain loss of MSE against version ${best.number}, the best`
  return atMost(name, Math.max(0, best.differenceLow), bound)
}

function listMeasures(lists: ListFacts, limits: QualityLimits): readonly CheckMeasure[] {
  const bound = limits.maxItemRise ?? 0.5
  return [
    atLeast('overlap of top lists with live', lists.overlap, limits.minOverlap ?? 0.1),
    atMost(`rise of ${itemName(lists.risenItem)} in top lists`, lists.rise, bound),
    atMost(`fall of ${itemName(lists.fallenItem)} in top lists`, lists.fall, bound),
  ]
}

function itemName(item: string | undefined): string {
  return item === undefined ? 'one item' : `item ${item}`
}

function movedMeasures(
  { item, user }: MovedFacts,
  { maxMovedError = 0.05 }: QualityLimits,
): readonly CheckMeasure[] {
  const moved = (of: string, { certain }: WorstGroup): CheckMeasure =>
    atMost(`certain error of the moved predictions of ${of}`, certain, maxMovedError)
  return [
    ...(item === undefined ? [] : [moved(`item ${item.group}`, item)]),
    // A user is not named: the registry keeps the measures.
    ...(user === undefined ? [] : [moved('one user', user)]),
  ]
}
