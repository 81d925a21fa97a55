import { systemClock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import { type TrainedWith, trainedWith } from '../../models/linear/trained-with.ts'
import { SVM_MODEL } from '../../models/topic/linear-serving-function.ts'
import { linearLearning } from '../learning/linear/coordinator.ts'
import { ONLINE_SVM, type OnlineSvmOptions } from '../learning/linear/job.ts'
import { LINEAR_LEARNED_MODEL } from '../learning/write-back/linear-model.ts'
import { requireSettings } from '../query-access.ts'
import type { ServedJob } from '../served-job.ts'
import { ONLINE_SVM_MODULE } from './job-modules.ts'
import { learnedBefore } from './learned-before.ts'
import { type ServeLearningOptions, serveLearning } from './learning.ts'
import type { ModelJob } from './model.ts'
import { servedMarker } from './served-marker.ts'

/** Options of the job without the place of its topics. */
export type SvmLearningJobOptions = Pick<
  OnlineSvmOptions,
  | 'observations'
  | 'quarantine'
  | 'rule'
  | 'mostUnderWay'
  | 'lingerMs'
  | 'positiveLabel'
  | 'eventId'
  | 'eventWindow'
  | 'prequential'
>

/** The options of the job that a program gives with `learnSvm`. */
export const SVM_LEARNING: OptionShape<Omit<SvmLearningJobOptions, 'observations'>> = {
  quarantine: ONLINE_SVM.quarantine,
  rule: ONLINE_SVM.rule,
  mostUnderWay: ONLINE_SVM.mostUnderWay,
  lingerMs: ONLINE_SVM.lingerMs,
  positiveLabel: ONLINE_SVM.positiveLabel,
  eventId: ONLINE_SVM.eventId,
  eventWindow: ONLINE_SVM.eventWindow,
  prequential: ONLINE_SVM.prequential,
}

/** Options of `learnSvmJob`. */
export interface LearnSvmJobOptions extends ServeLearningOptions {
  readonly job: SvmLearningJobOptions
}

/** Starts the `online-svm` job of a data folder: `svm-serving` that learns; see `serveLearning`. */
export async function learnSvmJob({ job, ...options }: LearnSvmJobOptions): Promise<ServedJob> {
  const model: ModelJob<OnlineSvmOptions> = {
    name: 'online-svm',
    module: ONLINE_SVM_MODULE,
    state: SVM_MODEL,
    options: (place, topic, range) => ({ ...place, ...job, topic, range }),
  }
  const { observations, quarantine, positiveLabel } = job
  await requireSettings(options.configuration, options.access)
  const served = await servedMarker(options)
  requireLabels(trainedWith(served?.hyperparameters ?? {}), positiveLabel, `topic ${options.topic}`)
  return await serveLearning(
    {
      model,
      learned: LINEAR_LEARNED_MODEL,
      coordinator: ({ onLearning, onRefused }) =>
        linearLearning({ clock: systemClock, onLearning, onRefused }),
      observations,
      quarantine,
      follows: {
        learnsKind: 'linear',
        ...(positiveLabel === undefined ? {} : { learnsPositive: positiveLabel }),
      },
      metadataOf: async (version, marker) => {
        const trained = trainedWith(marker.hyperparameters)
        requireLabels(trained, positiveLabel, `version ${version}`)
        const learned = await learnedBefore(version, marker, { observations, options })
        return { version, trainedWith: trained, ...learned }
      },
    },
    options,
  )
}

/** Throws INVALID_ARGUMENT if the positive label that was given is another one than that of the training. */
function requireLabels({ labels }: TrainedWith, given: number | undefined, what: string): void {
  requireArgument(
    given === undefined || labels === undefined || labels.positive === given,
    `${what} was trained with ${labels?.positive} as positive label and ${labels?.negative} as negative one, but --positive says ${given}; leave it out`,
  )
}
