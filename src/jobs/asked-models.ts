import type { JobExecutionOptions } from '../runtime/job/execution.ts'
import type { ModelInfo } from '../wire/inference/models.ts'

/** The models that a job asks. */
export interface AskedModels extends AsyncDisposable {
  readonly coordinator: NonNullable<JobExecutionOptions['models']>
  /** The models of the repository; none for a job that asks no model. */
  list(): readonly AskedModel[]
}

/** A model that a job may ask, as it is now. */
export interface AskedModel {
  readonly info: ModelInfo
  /** Settings that the live version was loaded with; null while none is live. */
  readonly settings: AskedModelSettings | null
}

/** How requests of a model are served. */
export interface AskedModelSettings {
  /** Name of the batching rule. */
  readonly rule: string
  /** Latency goal of requests that name no deadline, ms. */
  readonly sloMs: number
  /** Most items of a batch. */
  readonly maxBatchItems: number
  readonly workers: number
  /** Bytes of the prediction cache; 0 for none. */
  readonly cacheBytes: number
}
