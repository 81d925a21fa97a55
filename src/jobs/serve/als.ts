import type { AlsServingOptions } from '../model-topic/als-serving.ts'
import { ALS_MODEL } from '../model-topic/als-serving-function.ts'
import type { ServedJob } from '../served-job.ts'
import { ALS_SERVING_MODULE } from './job-modules.ts'
import { type ModelJob, type ServeModelOptions, serveModel } from './model.ts'

export { jobIdOf } from './job-id.ts'

/** Options of `serveAlsJob`. */
export type ServeAlsOptions = ServeModelOptions

const ALS_SERVING: ModelJob<AlsServingOptions> = {
  name: 'als-serving',
  module: ALS_SERVING_MODULE,
  state: ALS_MODEL,
  options: (place, topic, dimension) => ({ ...place, topic, dimension }),
}

/** Starts the `als-serving` job of a data folder (`serveModel`). */
export function serveAlsJob(options: ServeAlsOptions): Promise<ServedJob> {
  return serveModel(ALS_SERVING, options)
}
