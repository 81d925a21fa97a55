import type { RetrainAlsOptions } from '../../kinds/als/options.ts'
import { dampingOf } from '../../kinds/popularity/options.ts'
import type { RetrainedModel } from '../../kinds/registered.ts'
import { ONLINE_RULES, type OnlineRuleOptions } from '../../models/als/online/rules.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import { type CommandIo, type Flags, UsageError } from '../command/command.ts'
import { ratingsReadingOf } from '../files/ratings-reading.ts'
import {
  INHERITED_LINEAR_OPTIONS,
  inheritedHashing,
  inheritedLinearOptions,
} from '../flags/linear-training.ts'
import { goldenExamples, goldenRatings } from '../flags/promotion-checks.ts'
import { INHERITED_FEATURES_OPTIONS } from './features.ts'
import { halfLifeOf } from './half-life.ts'
import { inheritedFactorsOptions } from './inherited.ts'
import { POPULARITY_FLAGS } from './popularity-flags.ts'

/** What the options of a retraining follow from besides the flags. */
export interface RetrainedVersions {
  readonly live: RegisteredVersion | undefined
  /** The newest version, live or not. */
  readonly newest: RegisteredVersion | undefined
  readonly io: CommandIo
}

/** The flags of a kind of model. */
interface KindFlags {
  /** Names of the flags that other kinds do not have. ALS and linear models have `--solver`. */
  readonly flags: readonly string[]
  /** Options of the training and golden set: options that are not given are those of the live version. Throws UsageError. */
  modelOf(flags: Flags, versions: RetrainedVersions): Promise<RetrainedModel>
}

/** The flags of `weir retrain`, by name of the kind of model. */
export const KIND_FLAGS: Readonly<Record<string, KindFlags>> = {
  als: {
    flags: [
      ...['trainer', 'sweeps', 'factors', 'iterations', 'lambda', 'penalty', 'no-biases'],
      ...['no-warm-start', 'implicit', 'alpha', 'device', 'ratings', 'cohorts'],
      ...Object.keys(INHERITED_FEATURES_OPTIONS),
    ],
    async modelOf(flags, { live, newest, io }) {
      const als = inheritedFactorsOptions(flags, live, newest)
      return { als, rule: ruleOf(flags, als), ...(await goldenRatingsOf(flags, io)) }
    },
  },
  linear: {
    flags: [...Object.keys(INHERITED_LINEAR_OPTIONS), 'examples'],
    async modelOf(flags, { live }) {
      const golden = flags.optional('golden')
      return {
        linear: { ...inheritedLinearOptions(flags, live), ...halfLifeOf(flags, live) },
        ...(golden === undefined
          ? {}
          : { golden: await goldenExamples(golden, inheritedHashing(flags, live)) }),
      }
    },
  },
  popularity: {
    flags: [...Object.keys(POPULARITY_FLAGS), 'ratings', 'cohorts'],
    async modelOf(flags, { live, io }) {
      const known = live === undefined ? undefined : dampingOf(live.lineage.hyperparameters)
      const damping = flags.optionalNumber('damping') ?? known
      return {
        popularity: { ...(damping === undefined ? {} : { damping }), ...halfLifeOf(flags, live) },
        ...(await goldenRatingsOf(flags, io)),
      }
    },
  },
}

async function goldenRatingsOf(flags: Flags, io: CommandIo) {
  const golden = flags.optional('golden')
  if (golden === undefined) return {}
  return { golden: await goldenRatings(golden, ratingsReadingOf(flags, io), flags) }
}

/** How a candidate learns what came after its training data. Throws UsageError. */
function ruleOf(flags: Flags, { feedback }: RetrainAlsOptions): OnlineRuleOptions {
  const isGiven = flags.optional('rule') !== undefined
  const rule = isGiven ? flags.choice('rule', ONLINE_RULES) : undefined
  if (feedback !== 'implicit') return { rule: rule ?? 'gram' }
  if (rule === undefined || rule === 'fold-in') return { rule: 'fold-in', feedback }
  throw new UsageError(
    `--rule ${rule} learns ratings, but the model is of implicit feedback; leave it out`,
  )
}
