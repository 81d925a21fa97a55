import { SVM_MODEL } from '../../models/topic/linear-serving-function.ts'
import type { SvmServingOptions } from '../../models/topic/svm-serving.ts'
import type { ServedJob } from '../served-job.ts'
import { SVM_SERVING_MODULE } from './job-modules.ts'
import { type ModelJob, type ServeModelOptions, serveModel } from './model.ts'

const SVM_SERVING: ModelJob<SvmServingOptions> = {
  name: 'svm-serving',
  module: SVM_SERVING_MODULE,
  state: SVM_MODEL,
  options: (place, topic, range) => ({ ...place, topic, range }),
}

/** Starts the `svm-serving` job of a data folder (`serveModel`). */
export function serveSvmJob(options: ServeModelOptions): Promise<ServedJob> {
  return serveModel(SVM_SERVING, options)
}
