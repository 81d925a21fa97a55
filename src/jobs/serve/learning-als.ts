import { systemClock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import { alsLearning } from '../learning/als/coordinator.ts'
import type { OnlineAlsOptions } from '../learning/als/job.ts'
import { alsVersionMetadata } from '../learning/als/version.ts'
import { ALS_LEARNED_MODEL } from '../learning/write-back/als-model.ts'
import { ALS_MODEL } from '../model-topic/als-serving-function.ts'
import type { ServedJob } from '../served-job.ts'
import { ONLINE_ALS_MODULE } from './job-modules.ts'
import { learnedBefore } from './learned-before.ts'
import { type ServeLearningOptions, serveLearning } from './learning.ts'
import type { ModelJob } from './model.ts'

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

/** Options of `learnAlsJob`. */
export interface LearnAlsJobOptions extends ServeLearningOptions {
  readonly job: AlsLearningJobOptions
}

/** Maximum floats of a row that is solved again for every rating. */
const LONGEST_GRAM_ROW = 34

/** Starts the `online-als` job of a data folder: `als-serving` that learns; see `serveLearning`. */
export async function learnAlsJob({ job, ...options }: LearnAlsJobOptions): Promise<ServedJob> {
  const { observations, quarantine, window } = job
  requireArgument(
    window === undefined || options.writeBackMs === undefined,
    'rows cannot be written back while deltas are summed in windows: a sum does not say which ratings it is of; leave out --window-count or --write-back',
  )
  return await serveLearning(
    {
      model: alsModel(job),
      learned: ALS_LEARNED_MODEL,
      coordinator: (onLearning) =>
        alsLearning({
          clock: systemClock,
          onLearning,
          onMemoryDropped: (rule) =>
            options.onWarning?.(
              `the rows were learned with ${rule} before; they stay, but what ${rule} kept beside them does not fit the rule of now and was dropped: it learns on as from a model that was just trained`,
            ),
        }),
      observations,
      topics: quarantine === undefined ? [observations] : [observations, quarantine],
      metadataOf: async (version, marker) => {
        const learned = await learnedBefore(version, marker, { observations, options })
        return { ...alsVersionMetadata(version, marker), ...learned }
      },
    },
    options,
  )
}

function alsModel(job: AlsLearningJobOptions): ModelJob<OnlineAlsOptions> {
  return {
    name: 'online-als',
    module: ONLINE_ALS_MODULE,
    state: ALS_MODEL,
    options: (place, topic, dimension) => ({
      ...place,
      ...job,
      topic,
      dimension,
      rule: job.rule ?? { rule: dimension <= LONGEST_GRAM_ROW ? 'gram' : 'sgd' },
    }),
  }
}
