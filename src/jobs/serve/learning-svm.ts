import { systemClock } from '../../core/clock.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { type FeatureHashing, hashingText, isSameHashing } from '../../core/features/hashing.ts'
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
  | 'neverStop'
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
  neverStop: ONLINE_SVM.neverStop,
  prequential: ONLINE_SVM.prequential,
}

/** Options of `learnSvmJob`. */
export interface LearnSvmJobOptions extends ServeLearningOptions {
  readonly job: SvmLearningJobOptions
  /** How the version must hash the names of features. @default as it says */
  readonly hashing?: FeatureHashing | undefined
}

/** Starts the `online-svm` job of a data folder: `svm-serving` that learns; see `serveLearning`. */
export async function learnSvmJob({
  job,
  hashing,
  ...options
}: LearnSvmJobOptions): Promise<ServedJob> {
  const model: ModelJob<OnlineSvmOptions> = {
    name: 'online-svm',
    module: ONLINE_SVM_MODULE,
    state: SVM_MODEL,
    options: (place, topic, range) => ({ ...place, ...job, topic, range }),
  }
  const { observations, quarantine, positiveLabel } = job
  await requireSettings(options.configuration, options.access)
  const served = await servedMarker(options)
  const first = trainedWith(served?.hyperparameters ?? {})
  requireTwoLabels(first, `topic ${options.topic}`)
  requireLabels(first, positiveLabel, `topic ${options.topic}`)
  requireHashing(first, hashing, options.topic)
  return await serveLearning(
    {
      model,
      learned: LINEAR_LEARNED_MODEL,
      loss: 'mean loss',
      coordinator: (callbacks) =>
        linearLearning({ clock: systemClock, ...callbacks, neverStop: job.neverStop }),
      observations,
      quarantine,
      follows: {
        learnsKind: 'linear',
        ...(positiveLabel === undefined ? {} : { learnsPositive: positiveLabel }),
      },
      metadataOf: async (version, marker) => {
        const trained = trainedWith(marker.hyperparameters)
        requireTwoLabels(trained, `version ${version}`)
        requireLabels(trained, positiveLabel, `version ${version}`)
        const learned = await learnedBefore(version, marker, { observations, options })
        return { version, trainedWith: trained, ...learned }
      },
    },
    options,
  )
}

/** Throws UNSUPPORTED for a model of several classes. */
function requireTwoLabels({ classes }: TrainedWith, what: string): void {
  if (classes === undefined) return
  throw new WeirError(
    'UNSUPPORTED',
    `the model of ${what} has ${classes.labels.length} classes, and only models of two labels are learned online; serve it with weir run svm-serving`,
  )
}

/** Throws INVALID_ARGUMENT if a hash of features was given and is another one than that of the training. */
function requireHashing(
  { hashing }: TrainedWith,
  given: FeatureHashing | undefined,
  topic: string,
): void {
  requireArgument(
    given === undefined || isSameHashing(hashing, given),
    `the model of topic ${topic} was trained with ${hashingText(hashing)}, and this says ${hashingText(given)}; leave it out`,
  )
}

/** Throws INVALID_ARGUMENT if the positive label that was given is another one than that of the training. */
function requireLabels({ labels }: TrainedWith, given: number | undefined, what: string): void {
  requireArgument(
    given === undefined || labels === undefined || labels.positive === given,
    `${what} was trained with ${labels?.positive} as positive label and ${labels?.negative} as negative one, but --positive says ${given}; leave it out`,
  )
}
