import type { Cancel } from '../core/clock.ts'
import type { WeirError } from '../core/errors.ts'
import type { Barrier, CheckpointManifest } from './protocol/checkpoint-types.ts'

/** Somebody who waits for a checkpoint or savepoint. */
export interface CheckpointRequest {
  /** Where to copy the savepoint to; undefined for a plain checkpoint. */
  readonly folder: string | undefined
  completed(manifest: CheckpointManifest): void
  failed(error: WeirError): void
}

/** A checkpoint that was triggered and is not settled. */
export interface CheckpointRun {
  readonly barrier: Barrier
  readonly attempt: number
  readonly request: CheckpointRequest | undefined
  readonly cancelTimeout: Cancel
}
