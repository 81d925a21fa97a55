import { type DataLimits, shareBound } from './data.ts'
import { atLeast, atMost, type CheckMeasure } from './measure.ts'
import type { QualityLimits } from './quality.ts'

/** Facts about the examples that a linear version was trained on. */
export interface ExampleFacts {
  readonly observations: number
  /** Records of the range that are no examples. */
  readonly unparsable: number
  /** Share of the golden features without a weight. */
  readonly unknownShare: number
  /** Duality gap of the training and the gap that it was to reach; undefined where that is not known. */
  readonly gap?: { readonly reached: number; readonly tolerance: number } | undefined
  /** Of the observations; undefined for a version that was not trained on a topic. */
  readonly profile?: ExampleProfile | undefined
}

/** What the examples of a version's ranges are like. */
export interface ExampleProfile {
  /** Different examples. */
  readonly distinct: number
  /** Share of the examples that are equal to the most frequent one. */
  readonly exampleShare: number
  /** The same of the live version's ranges; NaN if unknown. */
  readonly exampleShareBefore: number
  /** Share of the golden examples that are observations, too, above the share of chance. */
  readonly leakedShare: number
  /** Examples that the live version was not trained on. */
  readonly newObservations: number
  /** Change of the share of the positive label in the new examples; NaN if unknown. */
  readonly labelShift: number
  /** Largest change of the share of examples that have one feature; NaN if unknown. */
  readonly featureShift: number
  /** Largest change of one feature's share of the sum of absolute values; NaN if unknown. */
  readonly valueShift: number
}

/** Factor of 1 / sqrt(n): change of a share by chance. */
const CHANCE = 2

/** The data check of a linear model: volume, format, sources, balance of labels and of features. */
export function exampleMeasures(
  facts: ExampleFacts,
  limits: DataLimits = {},
): readonly CheckMeasure[] {
  const { observations, unparsable, unknownShare, gap, profile } = facts
  const records = observations + unparsable
  const share = records === 0 ? 1 : unparsable / records
  return [
    atLeast('observations', observations, limits.minObservations ?? 100),
    atMost('unparsable share', share, limits.maxUnparsableShare ?? 0.01),
    atMost('unknown share', unknownShare, limits.maxUnknownShare ?? 0.5),
    ...(gap === undefined
      ? []
      : [atMost('duality gap of the training', gap.reached, gap.tolerance)]),
    ...(profile === undefined ? [] : profileMeasures(profile, limits)),
  ]
}

function profileMeasures(profile: ExampleProfile, limits: DataLimits): readonly CheckMeasure[] {
  const { distinct, exampleShare, exampleShareBefore, leakedShare, newObservations } = profile
  const ofOne = shareBound(limits.maxExampleShare ?? 0.05, distinct, exampleShareBefore)
  const ofFeature = limits.maxFeatureShift ?? 0.3
  const chance = CHANCE / Math.sqrt(newObservations)
  const shifts: readonly [string, number, number][] = [
    ['change of the share of the positive label', profile.labelShift, limits.maxLabelShift ?? 0.2],
    ['change of the share of one feature', profile.featureShift, ofFeature],
    ['change of the share of one feature in the values', profile.valueShift, ofFeature],
  ]
  return [
    atMost('golden examples in the training data', leakedShare, limits.maxLeakedShare ?? 0.05),
    atMost('share of one example', exampleShare, ofOne),
    ...shifts.flatMap(([name, value, bound]) =>
      Number.isNaN(value) ? [] : [atMost(name, value, bound + chance)],
    ),
  ]
}

/** Errors on the golden examples: the same examples for every version. */
export interface ClassifierFacts {
  readonly examples: number
  /** The loss that the candidate was trained with: the mean over the examples, for every version. */
  readonly loss: string
  readonly candidateLoss: number
  /** Undefined while no version is live. */
  readonly liveLoss: number | undefined
  /** Share of wrong labels of the candidate. */
  readonly errorRate: number
  /** Share of the less frequent label: the error rate of always predicting the other one. */
  readonly rareShare: number
  /** Share of the examples with the label that live predicts; undefined while no version is live. */
  readonly agreement: number | undefined
  /** The comparison with the best version that was ever promoted; undefined if there is none. */
  readonly best?:
    | {
        readonly number: number
        /** Mean loss of the best version. */
        readonly mean: number
        /** Low end of the 95 % interval of the candidate's mean loss minus that of the best. */
        readonly differenceLow: number
      }
    | undefined
}

/** A loss below it is small: the tolerance is a share of this then. */
const SMALL_LOSS = 0.1

/**
 * The quality check of a linear model: better than always predicting the more frequent label, worse than
 * live by at most the tolerance, not certainly worse than the best version ever promoted (so that many
 * small losses cannot add up), and with labels like those of the live version.
 */
export function classifierMeasures(
  facts: ClassifierFacts,
  limits: QualityLimits = {},
): readonly CheckMeasure[] {
  const { examples, loss, candidateLoss, liveLoss, agreement, best } = facts
  const tolerance = limits.tolerance ?? 0.01
  const atMostLive = (live: number): number => live + tolerance * Math.max(live, SMALL_LOSS)
  return [
    atLeast('golden examples', examples, limits.minPairs ?? 100),
    atMost('error rate against the more frequent label', facts.errorRate, facts.rareShare),
    ...(liveLoss === undefined
      ? []
      : [atMost(`${loss} against live`, candidateLoss, atMostLive(liveLoss))]),
    ...(best === undefined
      ? []
      : [
          atMost(
            `certain rise of the ${loss} against version ${best.number}, the best`,
            Math.max(0, best.differenceLow),
            best.mean * (limits.maxCertainLoss ?? 0),
          ),
        ]),
    ...(agreement === undefined
      ? []
      : [atLeast('share of the labels of live', agreement, limits.minAgreement ?? 0.5)]),
  ]
}
