import type { Deployment } from './deployment.ts'
import type { DevicePlacement } from './device.ts'
import type { ModelId, ModelSource } from './model.ts'
import type { ProducerMessage } from './producer-message.ts'
import type { InferAnswer, InferRequest, PartsRequest } from './request.ts'
import type { ServedModel } from './served-model.ts'
import type { ModelSignature } from './signature.ts'
import type { Tensor } from './tensor.ts'

/** Side of a thread that asks models: an event loop that never runs one. */
export interface InferenceProducer {
  /**
   * Answers a request. Each request ends exactly once, at the latest 1 ms after its deadline: with an
   * answer, with the deployment's default (`flags.isDefault`), or with a typed error. Rejects with
   * UNKNOWN_MODEL, SIGNATURE_MISMATCH, OVERLOADED (details `retryAfterMs`), DEADLINE_EXCEEDED, MODEL_FAILED,
   * POISONED_REQUEST, MODEL_MEMORY_EXCEEDED, WORKER_LOST, MODEL_NOT_LOADED, FRAME_TOO_LARGE (inputs or outputs above the
   * deployment's bytes), or with the reason of the signal.
   */
  infer(request: InferRequest): Promise<InferAnswer>
  /** Models that can be asked now. */
  models(): readonly ServedModel[]
  /** The served model of an id; undefined when it is not loaded. */
  model(id: ModelId): ServedModel | undefined
}

/** Counters and times of one served model since it was loaded. */
export interface ModelStatistics {
  readonly id: ModelId
  /** Requests by their end. */
  readonly answered: number
  readonly failed: number
  /** Shed because they could not be in time. */
  readonly shedDoomed: number
  /** Refused because the queue was full, or the predicted wait longer than the deadline. */
  readonly shedFull: number
  readonly expired: number
  readonly cancelled: number
  readonly batches: number
  /** Items of all batches. */
  readonly items: number
  /** Sum of the run times of all batches, ms. */
  readonly runMs: number
  /** Sum of the waits of all requests that were run, ms. */
  readonly queueMs: number
  /**
   * Time from a request to its answer that 99 of 100 stay below, ms, from a histogram; 0 before the first answer.
   */
  readonly p99Ms: number
  /** Requests by their wait, batches by the time of their run, and batches by their items. */
  readonly histograms: Readonly<Record<'queueMs' | 'runMs' | 'batchItems', readonly Bucket[]>>
  /** Requests that were answered within the latency goal. */
  readonly inTime: number
  /**
   * Share of the requests that were answered within the latency goal, of all that ended and were not cancelled;
   * absent before the first one.
   */
  readonly sloAttainment?: number
  /** Times that a request is given to the model, mean; above 1 by hedges, lost workers and halved batches. */
  readonly executionsPerRequest?: number
  /** Batches by the reason of their dispatch. */
  readonly dispatched: Readonly<Record<DispatchReason, number>>
  /** Requests that wait now. */
  readonly waiting: number
  /** Workers that are ready now. */
  readonly workers: number
  readonly workersBusy: number
  /** 1 where the worker is in a thread that other models use, too. @default 0 */
  readonly shared?: number
  /** Workers that the deployment asks for. */
  readonly workersWanted: number
  readonly workersLost: number
  /** Requests put up for a second worker. */
  readonly hedged: number
  /** Those of them that the second worker answered first. */
  readonly hedgeWins: number
  /** Memory of the model in all its workers, bytes; 0 where no limit of memory needs it. */
  readonly memoryBytes: number
  /** Memory that all models of the process hold now, and its limit, bytes; absent without a limit. */
  readonly deviceBytes?: number
  readonly deviceLimitBytes?: number
  /** 1 while the model is in memory, 0 while it was evicted. */
  readonly resident: number
  /** Loads after an eviction, their time in ms, and evictions. */
  readonly loads: number
  readonly loadMs: number
  readonly evictions: number
  /** Where the workers run, where the settings name devices. */
  readonly placements?: readonly DevicePlacement[]
  /** Why no worker can load the model now; absent while one serves it. It is tried again and again. */
  readonly problem?: string
}

/** Number of observations up to a bound, and above the bound before it. */
export interface Bucket {
  /** Inclusive; Infinity for the last bucket. */
  readonly upTo: number
  readonly count: number
}

/** Why a worker released a batch. */
export type DispatchReason = 'full' | 'slack' | 'delay' | 'idle' | 'flush'

/** Engine that serves models: it owns the queues and the workers. It is also the producer of its thread. */
export interface InferenceEngine extends InferenceProducer, AsyncDisposable {
  /**
   * Starts the workers of a model and resolves with its signature when all of them have loaded it. Other
   * models go on meanwhile. Where the engine has a limit of memory, the load waits until others have left, and
   * the model may be evicted later: a request then brings it back. Rejects with the error of the
   * runner, or with INVALID_ARGUMENT for the deployment or a model that is larger than the limit; nothing is
   * left behind then. An aborted `signal` gives up the load, whatever it waits for.
   */
  load(
    id: ModelId,
    source: ModelSource,
    deployment: Deployment,
    signal?: AbortSignal,
  ): Promise<ModelSignature>
  /**
   * The parts of one answer of a model whose signature says `parts`; each is made when it is asked for, and the model ends
   * when the iterator is returned. Throws UNKNOWN_MODEL, UNSUPPORTED, SIGNATURE_MISMATCH; the iterator rejects with
   * OVERLOADED, MODEL_NOT_LOADED, WORKER_LOST, DEADLINE_EXCEEDED, FRAME_TOO_LARGE, why the asker is gone, and the errors
   * of the model.
   */
  parts(request: PartsRequest): AsyncGenerator<readonly Tensor[]>
  /** Answers what waits, then ends the workers and frees the queue. Does nothing for an unknown id. */
  unload(id: ModelId): Promise<void>
  /**
   * Loads the model in a child process, runs it once with zeros, and returns the memory that this took, in
   * bytes. Rejects as `load`.
   */
  measure(source: ModelSource, deployment: Deployment): Promise<number>
  /** Of one model, or of all. */
  statistics(id?: ModelId): readonly ModelStatistics[]
  /**
   * Lets another thread of this process ask models, by messages that the caller carries to a `LinkedProducer`
   * there, in their order. Disposing the link gives up the requests of that thread; it must not ask any more
   * then. Throws OVERLOADED when too many threads are linked.
   */
  link(send: (message: ProducerMessage) => void): Disposable
}
