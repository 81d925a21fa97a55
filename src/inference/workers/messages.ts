import type { ErrorCode } from '../../core/errors.ts'
import type { Deployment, SharingProbe, WarmUp } from '../port/deployment.ts'
import type { ModelSource } from '../port/model.ts'
import type { ItemAxes, ModelSignature } from '../port/signature.ts'

/** Data that the thread of a worker starts with. */
export interface WorkerStart {
  readonly source: ModelSource
  /** Threads of one run. */
  readonly threads: number
  readonly isolation: 'thread' | 'process'
  /** As `Deployment.warmUp`. */
  readonly warmUp?: WarmUp | undefined
  /** Most items of a batch that the deployment allows. */
  readonly mostItems: number
  /** As `Deployment.memoryLimitBytes`. */
  readonly memoryLimitBytes?: number | undefined
  /** As `RunnerOptions.optimised`. */
  readonly optimised?: string | undefined
  /** As `Deployment.batches`. */
  readonly batches?: boolean | undefined
  /** As `Deployment.itemAxes`. */
  readonly itemAxes?: ItemAxes | undefined
  /** As `Deployment.probe`. */
  readonly probe?: SharingProbe | undefined
  /** As `RunnerOptions.signature`; it was probed. */
  readonly signature?: ModelSignature | undefined
}

/** Message to a worker that has loaded its model: serve this queue. */
export interface ServeMessage {
  readonly buffer: SharedArrayBuffer
  readonly worker: number
  readonly deployment: Deployment
  /** What all workers of the model go by. */
  readonly signature: ModelSignature
  readonly maxItems: number
}

/** Message from a worker. */
export type WorkerMessage =
  /** A child process runs the model; it must not outlive the worker. */
  | { readonly kind: 'child'; readonly pid: number }
  | { readonly kind: 'loaded'; readonly signature: ModelSignature }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  /** The child process took more memory than it may, and is replaced. */
  | { readonly kind: 'exceeded' }
  /** A request waits and the model is away; it has left, or is back. */
  | { readonly kind: 'wanted' | 'left' | 'entered' }
