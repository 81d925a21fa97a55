import type { Clock } from '../../core/clock.ts'
import type { SharedWorkers } from './shared-workers.ts'

/**
 * Move of a model between the memory and the disk: it is away and wanted, has left, is back, or could not be
 * loaded again (it is tried later).
 */
export type ModelMove = 'wanted' | 'left' | 'entered' | 'failed'

/** How the workers of a model start. */
export interface ModelWorkersOptions {
  readonly clock: Clock
  /** As `RunnerOptions.optimised`. */
  readonly optimised?: string | undefined
  /** As `RunnerOptions.remoteKey`. */
  readonly remoteKey?: string | undefined
  /** The model may be evicted from memory. @default false */
  readonly mayLeave?: boolean
  readonly onMove: (kind: ModelMove) => void
  /** Gives up the first load. */
  readonly signal?: AbortSignal
  /** Threads that the workers share with other models. @default each worker has a thread of its own */
  readonly shared?: SharedWorkers | undefined
}
