/**
 * `@weirjs/weir/inference`: the models that a job asks with `infer`, for jobs that a program starts. `weir run
 * JOB --repository DIR` opens them by itself.
 */

import './core/lifetime/require-node.ts'

export { type InferenceEngineOptions, openInferenceEngine } from './inference/engine/engine.ts'
export type { InferenceEngine } from './inference/port/engine.ts'
export type { ModelEvent } from './jobs/models/events.ts'
export { JobModels, type JobModelsOptions } from './jobs/models/job-models.ts'
