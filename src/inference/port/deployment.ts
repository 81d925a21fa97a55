import type { ProviderOptions } from './device.ts'
import type { ItemAxes } from './signature.ts'
import type { Tensor } from './tensor.ts'
import type { Transforms } from './transforms.ts'

/** Batching rule and its parameters. Times are ms. */
export type BatchingSettings =
  | {
      /** Chooses the size from the slack of the oldest request (the default). */
      readonly rule: 'slack'
      /** Longest wait for more requests. @default 0 */
      readonly delayMs?: number
    }
  | {
      /** Additive increase, multiplicative decrease of the largest batch (Clipper, 4.3.1). */
      readonly rule: 'aimd'
      /** Items added after a full batch in time. @default 2 */
      readonly increase?: number
      /** Factor after a batch over the goal. @default 0.9 */
      readonly decrease?: number
      readonly delayMs?: number
    }
  | {
      /** Largest batch from a quantile regression of run time on size (Clipper, 4.3.1). */
      readonly rule: 'quantile'
      /** @default 0.99 */
      readonly quantile?: number
      readonly delayMs?: number
    }
  | {
      /** Fixed sizes; waits while the oldest request allows it (Rafiki, algorithm 3). */
      readonly rule: 'greedy'
      /** Sizes in ascending order. @default [16, 32, 48, 64] */
      readonly sizes?: readonly number[]
    }
  | {
      /** Arrivals of a quantum against an adaptive threshold (Rafiqi, 3.2). */
      readonly rule: 'threshold'
      /** @default 5 */
      readonly quantumMs?: number
      /** Largest threshold. @default 128 */
      readonly cap?: number
    }
  | {
      /** Fixed size and delay: the rule of other servers, for comparison. */
      readonly rule: 'window'
      /** Longest wait of the oldest request. @default 5 */
      readonly delayMs?: number
    }
  | {
      /** No batching: one request a run. */
      readonly rule: 'none'
    }

/** When a request that a worker holds is given to a second worker. */
export type HedgeSettings =
  | { readonly afterMs: number }
  /** Quantile of the run times of the batch's size. */
  | { readonly quantile: number }

/** Runs of a worker that has loaded its model, before it gets requests. */
export interface WarmUp {
  readonly runs: number
  /** Inputs of the runs, in turn. @default zeros: one item and the largest batch in turn */
  readonly samples?: readonly (readonly Tensor[])[]
}

/** Requests that are run together and apart. */
export interface SharingProbe {
  /** Inputs of known requests, beside random ones that the probe makes. */
  readonly samples: readonly (readonly Tensor[])[]
}

/** Settings of a served model, apart from its weights. */
export interface Deployment {
  /** Latency goal, ms: the deadline of requests that name none. The only required setting. */
  readonly sloMs: number
  /** @default { rule: 'slack' } */
  readonly batching?: BatchingSettings
  /** Workers that may run the model. @default 1, or one for each of `devices` */
  readonly workers?: number
  /** Devices of an ONNX model, such as `cuda:0`: its workers are divided among them. @default the CPU */
  readonly devices?: readonly string[]
  /** `cpu`: a worker whose device cannot be used runs on the CPU. @default the load fails */
  readonly fallback?: 'cpu'
  /** Options of the execution provider of the devices, as ONNX Runtime has them. */
  readonly providerOptions?: ProviderOptions
  /** Threads of one run of an ONNX model on the CPU. @default the cores, divided among the workers */
  readonly threads?: number
  /**
   * `true`: the one worker of the model is in a thread that other models use, too, each in its turn; `false`: each worker
   * has its own thread. @default small ONNX models share where a process has many
   */
  readonly isShared?: boolean
  /**
   * `process`: a native crash or a leak ends a child process only, and a run of ONNX Runtime that hangs can be
   * ended. With `thread` such a run keeps its thread until it returns. @default 'thread'
   */
  readonly isolation?: 'thread' | 'process'
  /**
   * `true`: each row of the outputs depends on one row of the inputs only, so requests may share a run; a probe at the
   * load must agree. `false`: each request runs alone. @default what the model shows or says
   */
  readonly batches?: boolean
  /** Axes of the items where the model does not say them, by the name of the tensor; `null` for a tensor without items. */
  readonly itemAxes?: ItemAxes
  /**
   * Where requests may share a run, the first worker runs some together and apart before it serves; if their outputs
   * differ by more than rounding, each request runs alone. @default no probe
   */
  readonly probe?: SharingProbe
  /**
   * Most items of a run. A request with more is split where requests may share a run, and otherwise refused if this is
   * given. @default 64
   */
  readonly maxBatchItems?: number
  /** Most requests that wait or run. @default 256 */
  readonly queueCapacity?: number
  /**
   * Bytes of the inputs of one request.
   * @default as many items as a batch has, at most 1 MiB but at least one item; 1 MiB where sizes are free
   */
  readonly inputBytes?: number
  /** Bytes of the outputs of one request. @default as for `inputBytes` */
  readonly outputBytes?: number
  /**
   * Memory of the model in one worker, bytes. It counts where the engine has a limit of memory.
   * @default measured in a child process before the first load
   */
  readonly memoryBytes?: number
  /**
   * Most memory of the process of one worker, bytes, with its runtime: a run that takes more is ended and its request
   * fails with MODEL_MEMORY_EXCEEDED. Needs `isolation: 'process'`. @default no limit
   */
  readonly memoryLimitBytes?: number
  /** Where the engine has a limit of memory, the model never leaves it. @default false */
  readonly isKeptLoaded?: boolean
  /** Outputs of a request that cannot be answered in time; without them it fails with a typed error. */
  readonly default?: readonly Tensor[]
  /** No hedging when not given. */
  readonly hedge?: HedgeSettings
  /**
   * Each worker runs the model so often before it serves, and a model is ready when all its workers have. A model that
   * comes back after an eviction is not warmed: its request waits. @default no warm-up
   */
  readonly warmUp?: WarmUp
  /** What happens before and after each run, on the worker. @default nothing */
  readonly transforms?: Transforms
  /** Most answers in parts at a time, of a model that gives them. @default 64 */
  readonly streams?: number
  /** Attempts of a request whose worker was lost. @default 3 */
  readonly maxAttempts?: number
  /** A run is overtime after this many times its expected time, at least `overtimeMs`. @default 10 */
  readonly overtimeFactor?: number
  /** Shortest overtime, ms. @default 2000 */
  readonly overtimeMs?: number
  /** Runs after which a worker is replaced; undefined: never. */
  readonly recycleAfterRuns?: number
}
