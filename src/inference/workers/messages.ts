import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode } from '../../core/errors.ts'
import type { Deployment, SharingProbe, WarmUp } from '../port/deployment.ts'
import type { DeviceChoice, DevicePlacement } from '../port/device.ts'
import type { ModelSource } from '../port/model.ts'
import type { ItemAxes, ModelSignature } from '../port/signature.ts'
import type { Transforms } from '../port/transforms.ts'

/** Data that the thread of a worker starts with. */
export interface WorkerStart {
  readonly source: ModelSource
  /** Threads of one run. */
  readonly threads: number
  /** As `RunnerOptions.device`. */
  readonly device?: DeviceChoice | undefined
  /** As `RunnerOptions.remoteKey`. */
  readonly remoteKey?: string | undefined
  /** As `RunnerOptions.isSmall`. */
  readonly isSmall?: boolean
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
  /** As `Deployment.transforms`. */
  readonly transforms?: Transforms | undefined
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
  /** Orders for answers in parts, of a model that gives them. */
  readonly parts?: MessagePort | undefined
}

/** Message from a worker. */
export type WorkerMessage =
  /** A child process runs the model; it must not outlive the worker. */
  | { readonly kind: 'child'; readonly pid: number }
  /** `runMs`: time of a run of the largest batch in a thread that models share; 0 where it is not measured. */
  | {
      readonly kind: 'loaded'
      readonly signature: ModelSignature
      readonly runMs: number
      readonly placement: DevicePlacement | undefined
    }
  /** The worker has ended; its thread goes on. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  /** The child process took more memory than it may, and is replaced. */
  | { readonly kind: 'exceeded' }
  /** A request waits and the model is away; it has left, or is back. */
  | { readonly kind: 'wanted' | 'left' | 'entered' }

/** Message to a thread that models share, about one of them. */
export type SeatOrder =
  | { readonly kind: 'load'; readonly seat: number; readonly start: WorkerStart }
  /** Without a queue the worker is not needed. */
  | { readonly kind: 'serve'; readonly seat: number; readonly queue: ServeMessage | undefined }
  /** No model is left: the thread ends. */
  | { readonly kind: 'end' }

/** Message from a thread that models share. */
export interface SeatMessage {
  readonly seat: number
  readonly message: WorkerMessage
}
