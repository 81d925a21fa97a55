import { type Clock, orAfter } from '../core/clock.ts'
import { asWeirError } from '../core/errors.ts'
import type { CheckpointConfiguration } from '../runtime/configuration/configuration.ts'

/** What takes checkpoints: the execution of a job, or what stands for it. */
export interface Checkpointed {
  readonly status: string
  readonly configuration: {
    readonly checkpoints: Pick<CheckpointConfiguration, 'directory' | 'shutdownTimeoutMs'>
  }
  triggerCheckpoint(overtakes: boolean): Promise<number>
}

/** What became of the last checkpoint of a process that ends by a signal. */
export type LastCheckpoint =
  | { readonly kind: 'taken'; readonly checkpointId: number }
  /** The next process continues from an older checkpoint, and reads again what came after it. */
  | { readonly kind: 'failed'; readonly why: string }
  /** The job takes no checkpoints, or does not run. */
  | { readonly kind: 'none' }

/**
 * Takes a checkpoint of a job for the next process, for at most `execution.checkpointing.shutdown-timeout`: behind
 * records that wait for a slow operator it may take forever, and a supervisor kills a process that does not end. Its
 * barriers overtake such records where the job allows that. Does not throw.
 */
export async function takeLastCheckpoint(
  execution: Checkpointed,
  clock: Clock,
): Promise<LastCheckpoint> {
  const { directory, shutdownTimeoutMs } = execution.configuration.checkpoints
  if (execution.status !== 'RUNNING' || directory === undefined) return { kind: 'none' }
  if (shutdownTimeoutMs === 0) {
    return { kind: 'failed', why: 'execution.checkpointing.shutdown-timeout is 0' }
  }
  const taken = execution.triggerCheckpoint(true).then(
    (checkpointId): LastCheckpoint => ({ kind: 'taken', checkpointId }),
    (error: unknown): LastCheckpoint => {
      const { code, message } = asWeirError(error, 'STORAGE_FAILED')
      return { kind: 'failed', why: `${code}: ${message}` }
    },
  )
  return await orAfter(clock, shutdownTimeoutMs, taken, (): LastCheckpoint => {
    return { kind: 'failed', why: `it was not complete within ${shutdownTimeoutMs} ms` }
  })
}
