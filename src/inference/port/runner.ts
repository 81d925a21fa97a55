import type { DeviceChoice, DevicePlacement } from './device.ts'
import type { ModelSource } from './model.ts'
import type { ItemAxes, ModelSignature } from './signature.ts'
import type { Tensor } from './tensor.ts'

/** What a runner may use of its machine. */
export interface RunnerOptions {
  /** Threads of one run. */
  readonly threads: number
  /** Where an ONNX model runs. @default the CPU */
  readonly device?: DeviceChoice | undefined
  /** Key that the server of a model on another server gets as a bearer token. @default none */
  readonly remoteKey?: string | undefined
  /** Many such models are in one process: each takes as little memory as it can. @default false */
  readonly isSmall?: boolean | undefined
  /** File that keeps what a load worked out, so that the next one takes less time; undefined for none. */
  readonly optimised?: string | undefined
  /** As `Deployment.batches`. */
  readonly batches?: boolean | undefined
  /** As `Deployment.itemAxes`. */
  readonly itemAxes?: ItemAxes | undefined
  /** What the first load found, so that the next ones need not look again; undefined for the first. */
  readonly signature?: ModelSignature | undefined
}

/** Kind of model: it loads models of one kind in the thread of a worker. */
export interface Runner<Source extends ModelSource = ModelSource> {
  /**
   * Loads the model. Throws MODEL_NOT_LOADED when it cannot be loaded now, MODEL_FAILED or FILE_NOT_FOUND
   * when it never can.
   */
  load(source: Source, options: RunnerOptions): Promise<LoadedModel>
}

/** Model in the memory of one worker. One run at a time. */
export interface LoadedModel {
  readonly signature: ModelSignature
  /** Where it runs, of a model with a `RunnerOptions.device`. */
  readonly placement?: DevicePlacement | undefined
  /**
   * Outputs of a batch, in the signature's order. The inputs are views of the worker's buffer, valid until
   * the promise settles. `items` is the size of the item axis. Throws MODEL_FAILED.
   */
  run(inputs: readonly Tensor[], items: number): Promise<readonly Tensor[]>
  /**
   * Outputs of one request in parts, of a model whose signature says `parts`. The signal aborts when no client reads them
   * any more. Several at a time.
   */
  parts?(inputs: readonly Tensor[], signal: AbortSignal): AsyncIterable<readonly Tensor[]>
  /**
   * Called between two runs: takes back what the last run left behind, so that the next one is not held up. The worker
   * ends when it rejects.
   */
  refresh?(): Promise<void>
  /** Frees the model. */
  close(): Promise<void>
}

/** Model that is a module: what the named export of a `function` model is. */
export interface FunctionModel {
  readonly signature: ModelSignature
  /** Called in each worker before the first run, and again when the model comes back after `close`. */
  load?(options: unknown): Promise<void> | void
  /** As `LoadedModel.run`; may be synchronous. A model with `stream` needs none. */
  run?(inputs: readonly Tensor[], items: number): Promise<readonly Tensor[]> | readonly Tensor[]
  /**
   * The answer to one request in parts, each with all outputs: an async generator. The next part is asked for when the
   * client has taken the one before. When the client is gone, the signal aborts and the generator's `return` is called.
   */
  stream?(inputs: readonly Tensor[], signal: AbortSignal): AsyncIterable<readonly Tensor[]>
  close?(): Promise<void> | void
}
