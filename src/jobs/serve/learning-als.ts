import { systemClock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import { LEARNER_RULE, type LearnerRuleOptions, ruleOfKind } from '../../kinds/learner-rules.ts'
import { type Feedback, feedbackOf } from '../../models/feedback.ts'
import type { Hyperparameters } from '../../models/registry/version.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'
import { alsLearning } from '../learning/als/coordinator.ts'
import { ONLINE_ALS, type OnlineAlsOptions } from '../learning/als/job.ts'
import { alsVersionMetadata } from '../learning/als/version.ts'
import { ALS_LEARNED_MODEL } from '../learning/write-back/als-model.ts'
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
  | 'eventId'
  | 'eventWindow'
  | 'neverStop'
  | 'window'
  | 'lingerMs'
  | 'mostUnderWay'

/** The options of the job that a program gives with `learnAls`. */
export const ALS_LEARNING: OptionShape<Omit<AlsLearningJobOptions, 'observations'>> = {
  rule: LEARNER_RULE,
  quarantine: ONLINE_ALS.quarantine,
  evidence: ONLINE_ALS.evidence,
  prequential: ONLINE_ALS.prequential,
  ratingsPerSecond: ONLINE_ALS.ratingsPerSecond,
  itemRatingsPerSecond: ONLINE_ALS.itemRatingsPerSecond,
  refuseOutOfRange: ONLINE_ALS.refuseOutOfRange,
  eventId: ONLINE_ALS.eventId,
  eventWindow: ONLINE_ALS.eventWindow,
  neverStop: ONLINE_ALS.neverStop,
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
  const served = (await servedMarker(options))?.hyperparameters ?? {}
  const feedback = feedbackOf(served)
  requireRuleFor(served, job.rule, `topic ${options.topic}`)
  let started: LearnerRuleOptions['rule'] | undefined
  /** Says that a version of another length is learned by the rule that the job began with. */
  const sayOtherRule = (version: number, { dimension }: ModelVersionMarker): void => {
    const usual = job.rule === undefined ? defaultRule(served, dimension).rule : started
    if (started === undefined || usual === started) return
    options.onWarning?.(
      `version ${version} has rows of ${dimension} floats: it is learned with ${started}, the rule that the job began with; start the job again to learn it with ${usual}`,
    )
  }
  const model = alsModel(job, served)
  return await serveLearning(
    {
      model: {
        ...model,
        options: (...given) => {
          const made = model.options(...given)
          started = made.rule.rule
          return made
        },
      },
      learned: ALS_LEARNED_MODEL,
      loss: 'mean squared error',
      coordinator: (callbacks) =>
        alsLearning({
          clock: systemClock,
          ...callbacks,
          neverStop: job.neverStop,
          onMemoryDropped: (rule) =>
            options.onWarning?.(
              `the rows were learned with ${rule} before; they stay, but what ${rule} kept beside them does not fit the rule of now and was dropped: it learns on as from a model that was just trained`,
            ),
        }),
      observations,
      quarantine,
      isSummed: window !== undefined,
      follows: {
        learnsKind: 'factors',
        learnsFeedback: job.rule === undefined ? feedback : feedbackOfRule(job.rule),
      },
      metadataOf: async (version, marker) => {
        sayOtherRule(version, marker)
        const rule = job.rule ?? defaultRule(served, marker.dimension)
        requireRuleFor(marker.hyperparameters, rule, `version ${version}`)
        const learned = await learnedBefore(version, marker, { observations, options })
        return { ...alsVersionMetadata(version, marker), ...learned }
      },
    },
    options,
  )
}

function alsModel(job: AlsLearningJobOptions, served: Hyperparameters): ModelJob<OnlineAlsOptions> {
  return {
    name: 'online-als',
    module: ONLINE_ALS_MODULE,
    state: ALS_MODEL,
    options: (place, topic, dimension, dimensions) => ({
      ...place,
      ...job,
      topic,
      dimension,
      dimensions,
      rule: job.rule ?? defaultRule(served, dimension),
    }),
  }
}

/**
 * The rule where none is given, by what the served version was trained with: that of its kind. Of implicit feedback, a value
 * says that an item was used, not how much it is liked.
 */
function defaultRule(served: Hyperparameters, dimension: number): LearnerRuleOptions {
  const own = ruleOfKind(served)
  if (own !== undefined) return own
  const feedback = feedbackOf(served)
  if (feedback === 'implicit') return { rule: 'fold-in', feedback }
  return { rule: dimension <= LONGEST_GRAM_ROW ? 'gram' : 'sgd' }
}

/** Throws INVALID_ARGUMENT for a rule that learns other rows, or values of the other meaning. */
function requireRuleFor(
  hyperparameters: Hyperparameters,
  rule: LearnerRuleOptions | undefined,
  what: string,
): void {
  if (rule === undefined) return
  requireRuleOfKind(ruleOfKind(hyperparameters)?.rule, rule.rule, what)
  const feedback = feedbackOf(hyperparameters)
  const learns = feedbackOfRule(rule)
  requireArgument(
    learns === feedback,
    feedback === 'implicit'
      ? `${what} was trained on implicit feedback (counts of use), but ${rule.rule} learns values as ratings; leave out --rule, or use --rule fold-in --feedback implicit`
      : `${what} was trained on ratings, but --feedback implicit learns values as counts of use; leave it out`,
  )
}

/** Throws INVALID_ARGUMENT unless both are the rule of a kind that has one of its own, or neither is. */
function requireRuleOfKind(own: string | undefined, given: string, what: string): void {
  requireArgument(
    own === undefined || own === given,
    `${what} is learned by the rule of its kind, ${own}, not by ${given}; leave out --rule, or start the job again`,
  )
  requireArgument(
    own === given || given !== 'popularity',
    `the job learns popularity models, and ${what} is none; start the job again to learn it`,
  )
}

function feedbackOfRule(rule: LearnerRuleOptions): Feedback {
  return rule.rule === 'fold-in' ? (rule.feedback ?? 'explicit') : 'explicit'
}
