import type { ServedJob } from '../jobmanager/served-job.ts'
import type { AlsServingOptions } from '../jobs/als-serving.ts'
import { ALS_MODEL } from '../jobs/als-serving-function.ts'
import { ALS_SERVING_MODULE } from './als-serving-module.ts'
import { type ModelJob, type ServeModelOptions, serveModel } from './serve-model.ts'

export { jobIdOf } from './serve-model.ts'

/** How `als-serving` is started from the command line. */
export type ServeAlsOptions = ServeModelOptions

const ALS_SERVING: ModelJob<AlsServingOptions> = {
  name: 'als-serving',
  module: ALS_SERVING_MODULE,
  state: ALS_MODEL,
  options: (place, topic, dimension) => ({ ...place, topic, dimension }),
}

/** Starts the `als-serving` job of a data folder; see `serveModel`. */
export function serveAls(options: ServeAlsOptions): Promise<ServedJob> {
  return serveModel(ALS_SERVING, options)
}
