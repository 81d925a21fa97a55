import { systemClock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import { ONLINE_RULE, type OnlineRuleOptions } from '../../models/als/online/rules.ts'
import { type Feedback, feedbackOf } from '../../models/feedback.ts'
import { alsLearning } from '../learning/als/coordinator.ts'
import { ONLINE_ALS, type OnlineAlsOptions } from '../learning/als/job.ts'
import { alsVersionMetadata } from '../learning/als/version.ts'
import { ALS_LEARNED_MODEL } from '../learning/write-back/als-model.ts'
import { ALS_MODEL } from '../model-topic/als-serving-function.ts'
import { requireSettings } from '../query-access.ts'
import type { ServedJob } from '../served-job.ts'
import { ONLINE_ALS_MODULE } from './job-modules.ts'
import { learnedBefore } from './learned-before.ts'
import { type ServeLearningOptions, serveLearning } from './learning.ts'
import type { ModelJob } from './model.ts'
import { servedMarker } from './served-marker.ts'

/** Options of the job without the place of its topics. */
export type AlsLearningJobOptions = Pick<OnlineAlsOptions, LearningKey> &
  Partial<Pick<OnlineAlsOptions, 'rule'>>

type LearningKey =
  | 'observations'
  | 'quarantine'
  | 'evidence'
  | 'prequential'
  | 'ratingsPerSecond'
  | 'itemRatingsPerSecond'
  | 'refuseOutOfRange'
  | 'window'
  | 'lingerMs'
  | 'mostUnderWay'

/** The options of the job that a program gives with `learnAls`. */
export const ALS_LEARNING: OptionShape<Omit<AlsLearningJobOptions, 'observations'>> = {
  rule: ONLINE_RULE,
  quarantine: ONLINE_ALS.quarantine,
  evidence: ONLINE_ALS.evidence,
  prequential: ONLINE_ALS.prequential,
  ratingsPerSecond: ONLINE_ALS.ratingsPerSecond,
  itemRatingsPerSecond: ONLINE_ALS.itemRatingsPerSecond,
  refuseOutOfRange: ONLINE_ALS.refuseOutOfRange,
  window: ONLINE_ALS.window,
  lingerMs: ONLINE_ALS.lingerMs,
  mostUnderWay: ONLINE_ALS.mostUnderWay,
}

/** Options of `learnAlsJob`. */
export interface LearnAlsJobOptions extends ServeLearningOptions {
  readonly job: AlsLearningJobOptions
}

/** Maximum floats of a row that is solved again for every rating. */
const LONGEST_GRAM_ROW = 34

/** Starts the `online-als` job of a data folder: `als-serving` that learns; see `serveLearning`. */
export async function learnAlsJob({ job, ...options }: LearnAlsJobOptions): Promise<ServedJob> {
  const { observations, quarantine, window } = job
  await requireSettings(options.configuration, options.access)
  const feedback = feedbackOf((await servedMarker(options))?.hyperparameters ?? {})
  requireRuleFor(feedback, job.rule, `topic ${options.topic}`)
  requireArgument(
    window === undefined || options.writeBackMs === undefined,
    'rows cannot be written back while deltas are summed in windows: a sum does not say which ratings it is of; leave out --window-count or --write-back',
  )
  return await serveLearning(
    {
      model: alsModel(job, feedback),
      learned: ALS_LEARNED_MODEL,
      coordinator: (callbacks) =>
        alsLearning({
          clock: systemClock,
          ...callbacks,
          onMemoryDropped: (rule) =>
            options.onWarning?.(
              `the rows were learned with ${rule} before; they stay, but what ${rule} kept beside them does not fit the rule of now and was dropped: it learns on as from a model that was just trained`,
            ),
        }),
      observations,
      quarantine,
      follows: {
        learnsKind: 'factors',
        learnsFeedback: job.rule === undefined ? feedback : feedbackOfRule(job.rule),
      },
      metadataOf: async (version, marker) => {
        const own = feedbackOf(marker.hyperparameters)
        requireRuleFor(
          own,
          job.rule ?? defaultRule(feedback, marker.dimension),
          `version ${version}`,
        )
        const learned = await learnedBefore(version, marker, { observations, options })
        return { ...alsVersionMetadata(version, marker), ...learned }
      },
    },
    options,
  )
}

function alsModel(job: AlsLearningJobOptions, feedback: Feedback): ModelJob<OnlineAlsOptions> {
  return {
    name: 'online-als',
    module: ONLINE_ALS_MODULE,
    state: ALS_MODEL,
    options: (place, topic, dimension) => ({
      ...place,
      ...job,
      topic,
      dimension,
      rule: job.rule ?? defaultRule(feedback, dimension),
    }),
  }
}

/** The rule where none is given: of implicit feedback, a value says that an item was used, not how much it is liked. */
function defaultRule(feedback: Feedback, dimension: number): OnlineRuleOptions {
  if (feedback === 'implicit') return { rule: 'fold-in', feedback }
  return { rule: dimension <= LONGEST_GRAM_ROW ? 'gram' : 'sgd' }
}

/** Throws INVALID_ARGUMENT for a rule that learns values of the other meaning. */
function requireRuleFor(
  feedback: Feedback,
  rule: OnlineRuleOptions | undefined,
  what: string,
): void {
  if (rule === undefined) return
  const learns = feedbackOfRule(rule)
  requireArgument(
    learns === feedback,
    feedback === 'implicit'
      ? `${what} was trained on implicit feedback (counts of use), but ${rule.rule} learns values as ratings; leave out --rule, or use --rule fold-in --feedback implicit`
      : `${what} was trained on ratings, but --feedback implicit learns values as counts of use; leave it out`,
  )
}

function feedbackOfRule(rule: OnlineRuleOptions): Feedback {
  return rule.rule === 'fold-in' ? (rule.feedback ?? 'explicit') : 'explicit'
}
