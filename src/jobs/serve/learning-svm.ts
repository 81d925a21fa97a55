import { systemClock } from '../../core/clock.ts'
import { linearLearning } from '../learning/linear/coordinator.ts'
import type { OnlineSvmOptions } from '../learning/linear/job.ts'
import { SVM_MODEL } from '../model-topic/linear-serving-function.ts'
import type { ServedJob } from '../served-job.ts'
import { ONLINE_SVM_MODULE } from './job-modules.ts'
import { resumeOffsetsIn, type ServeLearningOptions, serveLearning } from './learning.ts'
import type { ModelJob } from './model.ts'

/** Options of the job without the place of its topics. */
export type SvmLearningJobOptions = Pick<
  OnlineSvmOptions,
  'observations' | 'rule' | 'mostUnderWay' | 'lingerMs' | 'positiveLabel'
>

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
  return await serveLearning(
    {
      model,
      coordinator: linearLearning({ clock: systemClock, onLearning: options.onLearning }),
      topics: [job.observations],
      metadataOf: async (version) => {
        const resumeOffsets = await resumeOffsetsIn(version, job.observations, options)
        return { version, resumeOffsets }
      },
    },
    options,
  )
}
