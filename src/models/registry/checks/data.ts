import { atLeast, atMost, type CheckMeasure } from './measure.ts'
import type { WorstGroup } from './worst-group.ts'

/** Facts about the ratings that a version was trained on. */
export interface DataFacts {
  readonly observations: number
  /** Records of the range that are no observations. */
  readonly unparsable: number
  readonly smallest: number
  readonly largest: number
  /** Share of the golden pairs whose user or item has no row. */
  readonly unknownShare: number
  /** Of the observations; undefined for a version that was not trained on a topic. */
  readonly profile?: ProfileFacts | undefined
}

/** Facts about the observations of a version's ranges. */
export interface ProfileFacts {
  readonly users: number
  readonly items: number
  /** Share of the observations that the most frequent user, or item, has. */
  readonly userShare: number
  readonly itemShare: number
  /** The same of the live version's ranges; NaN if unknown. */
  readonly userShareBefore: number
  readonly itemShareBefore: number
  /** Share of the golden ratings that are observations, too, above the share of chance. */
  readonly leakedShare: number
  /** Observations that the live version was not trained on. */
  readonly newObservations: number
  /** Total variation of their ratings against those of the live version, 0 to 1; NaN if unknown. */
  readonly ratingShift: number
  /**
   * The item, and the user, whose new ratings differ most from its golden ratings, `certain` as a share of the range of
   * ratings (`NewAgainstGolden`); undefined where none has enough of both.
   */
  readonly contradicted?: {
    readonly item: WorstGroup | undefined
    readonly user: WorstGroup | undefined
  }
}

/** Bounds of the data check. */
export interface DataLimits {
  /** @default 100 */
  readonly minObservations?: number
  /** Maximum share of records that are no observations. @default 0.01 */
  readonly maxUnparsableShare?: number
  /** The rating scale. @default no bounds */
  readonly smallest?: number
  readonly largest?: number
  /** Maximum share of golden pairs with an unknown user or item, or of golden features without a weight. @default 0.5 */
  readonly maxUnknownShare?: number
  /** Maximum share of the golden set among the observations, above that of chance. @default 0.05 */
  readonly maxLeakedShare?: number
  /** Maximum share of one user, on top of three times the mean share. @default 0.05 */
  readonly maxUserShare?: number
  /** Maximum share of one item, on top of three times the mean share. @default 0.15 */
  readonly maxItemShare?: number
  /** Maximum total variation of new ratings against those before, on top of that of chance. @default 0.3 */
  readonly maxRatingShift?: number
  /**
   * Maximum certain difference of the mean of the new ratings of one item from that of its golden ratings, as a share of
   * the range of ratings; of one user twice as much. @default 0.1
   */
  readonly maxGoldenShift?: number
  /** Linear models: maximum share of examples that are equal, on top of three times the mean share. @default 0.05 */
  readonly maxExampleShare?: number
  /** Linear models: maximum change of the share of the positive label, on top of that of chance. @default 0.2 */
  readonly maxLabelShift?: number
  /**
   * Linear models: maximum change of one feature's share of the examples and of the values, on top of that of chance.
   * @default 0.3
   */
  readonly maxFeatureShift?: number
}

/** The data check of an ALS model: volume, schema, range, unknown share. */
export function dataMeasures(facts: DataFacts, limits: DataLimits = {}): readonly CheckMeasure[] {
  const records = facts.observations + facts.unparsable
  const unparsable = records === 0 ? 1 : facts.unparsable / records
  return [
    atLeast('observations', facts.observations, limits.minObservations ?? 100),
    atMost('unparsable share', unparsable, limits.maxUnparsableShare ?? 0.01),
    ...(limits.smallest === undefined
      ? []
      : [atLeast('smallest rating', facts.smallest, limits.smallest)]),
    ...(limits.largest === undefined
      ? []
      : [atMost('largest rating', facts.largest, limits.largest)]),
    atMost('unknown share', facts.unknownShare, limits.maxUnknownShare ?? 0.5),
    ...(facts.profile === undefined ? [] : profileMeasures(facts.profile, limits)),
  ]
}

/** Times the mean share that the most frequent user, item or example may have honestly. */
const HONEST_SHARES = 3
/** Growth of the largest share from one version to the next. */
const HONEST_GROWTH = 1.2
/** What the new ratings of a user may differ more than those of an item: on MovieLens 100K by time up to 0.12 of the range. */
const SESSIONS = 2
/** Factor of 1 / sqrt(n): distance of two samples of one distribution with some ten values. */
const CHANCE = 2

/** Bound of the largest share of `count` kinds; where it was larger before, it may stay so. */
export function shareBound(limit: number, count: number, before: number): number {
  const bound = limit + HONEST_SHARES / count
  return Number.isNaN(before) ? bound : Math.max(bound, before * HONEST_GROWTH)
}

function profileMeasures(facts: ProfileFacts, limits: DataLimits): readonly CheckMeasure[] {
  const { users, items, newObservations } = facts
  const { userShareBefore, itemShareBefore } = facts
  const userShare = shareBound(limits.maxUserShare ?? 0.05, users, userShareBefore)
  const itemShare = shareBound(limits.maxItemShare ?? 0.15, items, itemShareBefore)
  const shift = (limits.maxRatingShift ?? 0.3) + CHANCE / Math.sqrt(newObservations)
  return [
    atMost('golden ratings in the training data', facts.leakedShare, limits.maxLeakedShare ?? 0.05),
    atMost('share of one user', facts.userShare, userShare),
    atMost('share of one item', facts.itemShare, itemShare),
    ...(Number.isNaN(facts.ratingShift)
      ? []
      : [atMost('change of the distribution of ratings', facts.ratingShift, shift)]),
    ...differenceMeasures(facts, limits.maxGoldenShift ?? 0.1),
  ]
}

function differenceMeasures(
  { contradicted: { item, user } = { item: undefined, user: undefined } }: ProfileFacts,
  bound: number,
): readonly CheckMeasure[] {
  const difference = (of: string, { certain }: WorstGroup, most: number): CheckMeasure =>
    atMost(`certain difference of the new from the golden ratings of ${of}`, certain, most)
  return [
    ...(item === undefined ? [] : [difference(`item ${item.group}`, item, bound)]),
    // A user is not named: the registry keeps the measures. His ratings come in sessions, and those of one are alike.
    ...(user === undefined ? [] : [difference('one user', user, SESSIONS * bound)]),
  ]
}
