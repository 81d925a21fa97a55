import type { ServedJob } from '../jobmanager/served-job.ts'
import type { SvmServingOptions } from '../jobs/svm-serving.ts'
import { SVM_MODEL } from '../jobs/svm-serving-function.ts'
import { type ModelJob, type ServeModelOptions, serveModel } from './serve-model.ts'
import { SVM_SERVING_MODULE } from './svm-serving-module.ts'

const SVM_SERVING: ModelJob<SvmServingOptions> = {
  name: 'svm-serving',
  module: SVM_SERVING_MODULE,
  state: SVM_MODEL,
  options: (place, topic, range) => ({ ...place, topic, range }),
}

/** Starts the `svm-serving` job of a data folder; see `serveModel`. */
export function serveSvm(options: ServeModelOptions): Promise<ServedJob> {
  return serveModel(SVM_SERVING, options)
}
