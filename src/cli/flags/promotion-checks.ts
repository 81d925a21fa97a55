import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FeatureHashing } from '../../core/features/hashing.ts'
import type { PromotionLimits } from '../../jobs/promotion/checks.ts'
import type { GoldenExamples, GoldenRatings } from '../../kinds/port/golden-set.ts'
import type { RegisteredKind } from '../../kinds/registered.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'
import { SVM_MODEL } from '../../models/topic/linear-serving-function.ts'
import { jobAddressOptions } from '../command/address.ts'
import { type Flags, needs, type OptionSpec } from '../command/command.ts'
import { cohortsOfFile } from '../files/cohorts-file.ts'
import { examplesOfFile } from '../files/examples-file.ts'
import { ratingsOfFile } from '../files/ratings-file.ts'
import { type RatingsReading, ratingsOptionsOf } from '../files/ratings-reading.ts'
import { anyNumber, milliseconds, share, wholeNumber } from '../flag-kinds/numbers.ts'
import { numberRange } from '../flag-kinds/pairs.ts'
import { input } from '../flag-kinds/places.ts'
import { name } from '../flag-kinds/words.ts'
import { counted } from '../text/counted.ts'
import { CONNECTION_OPTIONS } from './query.ts'
import { rangeOf } from './retrain-triggers.ts'

/** Flags of the checks before a promotion. */
export const CHECK_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  golden: {
    type: 'string',
    value: input(),
    help: 'Run the three checks first, on these ratings or LIBSVM examples, which no version was trained on',
  },
  ...ratingsOptionsOf('golden'),
  tolerance: {
    type: 'string',
    needs: [needs('golden')],
    value: share({ min: 0 }),
    default: '0.01',
    help: 'Allowed increase of the RMSE, or mean loss, over that of the live version',
  },
  'min-observations': {
    type: 'string',
    needs: [needs('golden')],
    value: wholeNumber(),
    default: '100',
    help: 'Smallest number of training observations',
  },
  'rating-range': {
    type: 'string',
    value: numberRange,
    help: 'Allowed range of the training ratings',
  },
  'max-unknown': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.5',
    help: 'Largest share of golden pairs with an unknown user or item, or of golden features without a weight',
  },
  'max-certain-loss': {
    type: 'string',
    needs: [needs('golden')],
    value: share({ min: 0 }),
    default: '0',
    help: 'Allowed certain rise of the error (95 %, paired) over that of the best version ever promoted',
  },
  'min-overlap': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.1',
    help: 'Smallest mean overlap of the top lists of users with those of the live version',
  },
  'max-item-rise': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.5',
    help: 'Largest growth, and largest fall, of the share of top lists that have one item',
  },
  'max-moved-error': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.05',
    help: 'Largest certain distance of moved predictions of one item, or user, beyond its golden ratings, of the range',
  },
  cohorts: {
    type: 'string',
    needs: [needs('golden')],
    value: input(),
    help: 'File of groups of users, in the form of --user-features of "weir train bmf": each value of a column of categories is a group (default: groups by activity alone)',
  },
  'max-cohort-rise': {
    type: 'string',
    needs: [needs('golden')],
    value: share({ min: 0 }),
    default: '0.02',
    help: 'Largest certain rise of the error of one group of users over that of the live version, of the live one (implicit: of its NDCG)',
  },
  'max-leaked': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.05',
    help: 'Largest share of the golden set that is in the training data, above that of chance',
  },
  'max-user-share': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.05',
    help: 'Largest share of the observations of one user, on top of 3 times the mean',
  },
  'max-item-share': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.15',
    help: 'Largest share of the observations of one item, on top of 3 times the mean',
  },
  'max-rating-shift': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.3',
    help: 'Largest total variation of new ratings against those of the live version',
  },
  'max-golden-shift': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.1',
    help: 'Largest certain difference of the new from the golden ratings of one item, of the range; twice it of one user',
  },
  'max-example-share': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.05',
    help: 'Linear: largest share of equal examples, on top of 3 times the mean',
  },
  'max-label-shift': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.2',
    help: 'Linear: largest change of the share of the positive label in new examples',
  },
  'max-feature-shift': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.3',
    help: "Linear: largest change of one feature's share of new examples and of their values",
  },
  'min-agreement': {
    type: 'string',
    needs: [needs('golden')],
    value: share(),
    default: '0.5',
    help: 'Linear: smallest share of golden examples with the label that the live version predicts',
  },
  'max-latency': {
    type: 'string',
    needs: [needs('golden')],
    value: anyNumber({ above: 0 }, 'MS'),
    default: '100',
    help: 'Largest p99 latency of an answer',
  },
  'load-timeout': {
    type: 'string',
    needs: [needs('golden')],
    value: milliseconds(),
    default: '60000',
    help: 'Longest time to load the version',
  },
  ...jobAddressOptions('the serving job'),
  ...CONNECTION_OPTIONS,
  state: {
    type: 'string',
    value: name(),
    help: `Name of the queryable state (default: ${ALS_MODEL}, or ${SVM_MODEL} of a linear model)`,
  },
}

/** The queryable state of `--state`; without it that of the kind of model. */
export function stateOf(flags: Flags, kind: RegisteredKind): string {
  return flags.optional('state') ?? kind.state
}

/** The golden ratings of a file, with the groups of users of `--cohorts`; their subject is path and hash. */
export async function goldenRatings(
  path: string,
  reading: RatingsReading,
  flags: Flags,
): Promise<GoldenRatings> {
  const ratings = await ratingsOfFile(path, reading)
  const cohorts = flags.optional('cohorts')
  return {
    ratings,
    ...(cohorts === undefined ? {} : { cohorts: await cohortsOfFile(cohorts) }),
    subject: await subjectOf(path, counted(ratings.size, 'rating')),
  }
}

/** The golden examples of a LIBSVM file; their subject is path and hash. `hashing`: their features have names. */
export async function goldenExamples(
  path: string,
  hashing: FeatureHashing | undefined,
): Promise<GoldenExamples> {
  const examples = await examplesOfFile(path, { hashing })
  return { examples, subject: await subjectOf(path, counted(examples.rows, 'example')) }
}

/** Path and hash of a local file; of another one its size. */
async function subjectOf(path: string, size: string): Promise<string> {
  if (path.startsWith('hdfs://')) return `${path} ${size}`
  const hash = createHash('sha256').update(await readFile(path))
  return `${path} ${hash.digest('hex').slice(0, 16)}`
}

/** The limits of the flags. Throws UsageError. */
export function limitsOf(flags: Flags): PromotionLimits {
  const range = rangeOf(flags)
  return {
    data: {
      minObservations: flags.number('min-observations'),
      maxUnknownShare: flags.number('max-unknown'),
      maxLeakedShare: flags.number('max-leaked'),
      maxUserShare: flags.number('max-user-share'),
      maxItemShare: flags.number('max-item-share'),
      maxRatingShift: flags.number('max-rating-shift'),
      maxGoldenShift: flags.number('max-golden-shift'),
      maxExampleShare: flags.number('max-example-share'),
      maxLabelShift: flags.number('max-label-shift'),
      maxFeatureShift: flags.number('max-feature-shift'),
      ...(range === undefined ? {} : { smallest: range.min, largest: range.max }),
    },
    quality: {
      tolerance: flags.number('tolerance'),
      maxCertainLoss: flags.number('max-certain-loss'),
      minOverlap: flags.number('min-overlap'),
      maxItemRise: flags.number('max-item-rise'),
      maxMovedError: flags.number('max-moved-error'),
      maxCohortRise: flags.number('max-cohort-rise'),
      minAgreement: flags.number('min-agreement'),
    },
    serving: {
      maxP99Ms: flags.number('max-latency'),
      maxLoadMs: flags.number('load-timeout'),
    },
  }
}
